package shell

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/units"
)

// Executor changes a host, and keeps the journal of that in a directory, "" for the usual one. A journal that others could
// have written to is refused. It says on standard error what it waits for.
func (s *Shell) Executor(d host.Doer, state string) *change.Executor {
	waits := func(on, until string, most time.Duration) {
		s.Done()
		fmt.Fprintf(s.Err, "plumb: waiting for %s -> %s, up to %s\n", OneLine(on), OneLine(until), units.Planned(most))
	}
	return &change.Executor{Doer: d, Dir: cmp.Or(state, change.Directory), Plumb: Version(), Now: time.Now, Guard: host.Guarded, Waits: waits}
}

// Itself is a command of this program that works with the journal in a directory, "" for the usual one: for who is to run it
// later, from elsewhere.
func Itself(state string, words ...string) ([]string, error) {
	self, err := os.Executable()
	argv := append([]string{self}, words...)
	if state == "" || err != nil {
		return argv, err
	}
	dir, err := filepath.Abs(state)
	return append(argv, "--state", dir), err
}
