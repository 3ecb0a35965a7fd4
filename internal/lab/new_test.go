package lab

import (
	"errors"
	"os"
	"strings"
	"testing"

	"plumb/internal/host"
	"plumb/test/sandbox"
)

// A server of anybody's can say that it keeps its data in his own directory.
// Root makes no lab below it, whether a person or a rehearsal named it.
func TestNoLabInSomebodysDirectory(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to give a directory to another user")
	}
	dir := sandbox.Open(t)
	if err := os.Chown(dir, sandbox.Nobody, sandbox.Nobody); err != nil {
		t.Fatal(err)
	}
	doer := host.NewLiveDoer(host.NewLive(host.LiveOptions{}))
	defer doer.Close()
	if l, err := New(t.Context(), doer, dir, Lab{}); !errors.Is(err, host.ErrDenied) || !strings.Contains(err.Error(), dir) {
		t.Errorf("%+v, %v", l, err)
	}
}
