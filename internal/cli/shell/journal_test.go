package shell

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Who waits for a server is told for which, and for how long.
func TestExecutorSaysWhatItWaitsFor(t *testing.T) {
	var errs bytes.Buffer
	s := New(strings.NewReader(""), &bytes.Buffer{}, &errs)
	s.Executor(nil, t.TempDir()).Waits("mysql:3306", "/run/mysqld/mysqld.sock", 10*time.Minute)
	if want := "plumb: waiting for mysql:3306 -> /run/mysqld/mysqld.sock, up to 10m\n"; errs.String() != want {
		t.Errorf("it says %q, not %q", errs.String(), want)
	}
}
