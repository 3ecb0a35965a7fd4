package shell

import (
	"cmp"
	"os"
	"path/filepath"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
)

// Executor changes a host, and keeps the journal of that in a directory, "" for the usual one. A journal that others could
// have written to is refused.
func Executor(d host.Doer, state string) *change.Executor {
	return &change.Executor{Doer: d, Dir: cmp.Or(state, change.Directory), Plumb: Version(), Now: time.Now, Guard: host.Guarded}
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
