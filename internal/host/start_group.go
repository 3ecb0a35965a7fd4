package host

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"plumb/internal/hint"
)

// startInGroups starts a command inside control groups, so that not one page of
// its memory is counted elsewhere. With version 2 the kernel can clone into a group. With
// version 1 a child begins in the groups of the thread that forks it: a thread of ours
// enters them, forks, and is given up.
func startInGroups(cmd *exec.Cmd, dirs []string) error {
	var first []string // of version 1
	for _, dir := range dirs {
		two, err := version2(dir)
		if err != nil {
			return err
		}
		if !two {
			first = append(first, dir)
			continue
		}
		if cmd.SysProcAttr.UseCgroupFD {
			return fmt.Errorf("control group %s: a process is in one group of version 2, not in two", dir)
		}
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		defer f.Close()
		cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(f.Fd())
	}
	if len(first) == 0 {
		return cmd.Start()
	}
	return onLostThread(func() error {
		for _, dir := range first {
			// 0 means the thread that writes.
			if err := os.WriteFile(filepath.Join(dir, "tasks"), []byte("0"), 0); err != nil {
				return fmt.Errorf("enter control group %s: %w", dir, hint.Cause(err))
			}
		}
		return cmd.Start()
	})
}

// version2 tells whether a directory is a control group of version 2 rather than 1.
func version2(dir string) (bool, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return false, fmt.Errorf("control group %s: %w", dir, err)
	}
	switch int64(fs.Type) {
	case unix.CGROUP2_SUPER_MAGIC:
		return true, nil
	case unix.CGROUP_SUPER_MAGIC:
		return false, nil
	}
	return false, fmt.Errorf("%s: %w", dir, errNotGroup)
}

var errNotGroup = errors.New("not a control group")

// onLostThread runs f on a thread that ends afterwards, and with it whatever f changed of the
// thread. The process's first thread cannot end and so is not used.
func onLostThread(f func() error) error {
	answer := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if syscall.Gettid() == os.Getpid() {
			answer <- onLostThread(f) // on another thread, as this one is locked to us
			runtime.UnlockOSThread()
			return
		}
		answer <- f()
	}()
	return <-answer
}
