package shell

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
)

// Executor makes the executor for changes of this host, with its journal in the directory state, "" for the usual one. It refuses a
// journal that other users could have written to.
func Executor(d host.Doer, state string) *change.Executor {
	return &change.Executor{Doer: d, Dir: cmp.Or(state, change.Directory), Plumb: Version(), Now: time.Now, Guard: host.Guarded}
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
