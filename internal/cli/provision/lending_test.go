package provision

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
)

// The unit of the next boot runs this program as root: one that another user can change would be his way to become root.
func TestNoUnitRunsAProgramOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("gives a program to another user: run the tests as root")
	}
	dir := t.TempDir()
	d := &host.Hooked{Behind: hosttest.LiveDoer(t), At: func(name string) (string, error) { // systemd runs here
		if name == "/run/systemd/system" {
			return dir, nil
		}
		return filepath.Join(dir, name), nil
	}}
	b := &lending{Shell: &shell.Shell{}}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if u, err := b.unit(t.Context(), d); err != nil || u == nil || u.Command[0] != self {
		t.Errorf("root's own: %+v, %v", u, err)
	}
	if err := os.Chown(self, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	defer os.Chown(self, 0, 0)
	if u, err := b.unit(t.Context(), d); err == nil || u != nil || !strings.Contains(err.Error(), "belongs to user 65534") || !strings.Contains(hint.Of(err), "/usr/local/bin") {
		t.Errorf("another user's: %+v, %v, hint %q", u, err, hint.Of(err))
	}
}
