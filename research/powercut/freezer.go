package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"plumb/test/sandbox"
)

// freezer is a control group whose processes can all be stopped at once, of
// version 1 or 2.
type freezer struct {
	dir, file, stop, run string
}

func newFreezer(name string) (*freezer, error) {
	f := &freezer{filepath.Join("/sys/fs/cgroup/freezer", name), "freezer.state", "FROZEN", "THAWED"}
	if _, err := os.Stat("/sys/fs/cgroup/cgroup.controllers"); err == nil {
		f = &freezer{filepath.Join("/sys/fs/cgroup", name), "cgroup.freeze", "1", "0"}
	}
	if err := os.Mkdir(f.dir, 0o755); err != nil {
		return nil, sandbox.Missing{What: "cannot make a control group: " + err.Error(), Hint: "run where /sys/fs/cgroup can be written and has the freezer"}
	}
	return f, nil
}

// freeze stops what runs in the group. A process that waits in the kernel goes
// on waiting, and stops before it sees what the kernel says.
func (f *freezer) freeze() error {
	return os.WriteFile(filepath.Join(f.dir, f.file), []byte(f.stop), 0)
}

// kill sends SIGKILL to all that is in the group and lets it go on, into death:
// the signal comes before any instruction of theirs.
func (f *freezer) kill() error {
	text, err := os.ReadFile(filepath.Join(f.dir, "cgroup.procs"))
	for _, word := range strings.Fields(string(text)) {
		if pid, bad := strconv.Atoi(word); bad == nil && pid > 1 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // one that is gone is as good
		}
	}
	return errors.Join(err, os.WriteFile(filepath.Join(f.dir, f.file), []byte(f.run), 0))
}

// close takes the group away when its processes are gone.
func (f *freezer) close() error {
	var err error
	for until := time.Now().Add(loopEnds); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if err = os.Remove(f.dir); err == nil || errors.Is(err, os.ErrNotExist) {
			return nil
		}
		err = errors.Join(err, f.kill())
	}
	return fmt.Errorf("remove the control group: %w", err)
}
