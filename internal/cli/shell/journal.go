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

// Executor makes the executor for changes of this host, with its journal in the directory state, "" for the usual one. It refuses a
// journal that other users could have written to, and says on standard error what it waits for.
func (s *Shell) Executor(d host.Doer, state string) *change.Executor {
	waits := func(on, until string, most time.Duration) {
		s.Done()
		fmt.Fprintf(s.Err, "plumb: waiting for %s -> %s, up to %s\n", OneLine(on), OneLine(until), units.Planned(most))
	}
	return &change.Executor{Doer: d, Dir: cmp.Or(state, change.Directory), Plumb: Version(), Now: time.Now, Guard: host.Guarded, Waits: waits}
}

// Itself returns the words of a command line that runs this program later, from any directory, with the same journal: the absolute path
// of the program, words, and --state unless state is "" for the usual directory.
func Itself(state string, words ...string) ([]string, error) {
	self, err := os.Executable()
	argv := append([]string{self}, words...)
	if state == "" || err != nil {
		return argv, err
	}
	dir, err := filepath.Abs(state)
	return append(argv, "--state", dir), err
}
