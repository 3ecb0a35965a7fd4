package vm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"plumb/test/sandbox"
)

// cache is where images are kept and runs have their disks, outside the
// project.
func cache() (string, error) {
	user, err := os.UserCacheDir()
	if err != nil {
		return "", sandbox.Missing{What: "no place for machines: " + err.Error(), Hint: "set XDG_CACHE_HOME"}
	}
	dir := filepath.Join(user, "plumb", "vm")
	return dir, os.MkdirAll(dir, 0o755)
}

// findProgram finds a program that may be where only root's PATH looks.
func findProgram(name, pack string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		p := filepath.Join(dir, name)
		if st, err := os.Stat(p); err == nil && st.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", sandbox.Missing{What: "no " + name, Hint: "apt-get install " + pack}
}

// tied runs a command that ends with us, however we end. The kernel ties it to
// the thread that started it, so that has to stay until it is over.
func tied(cmd *exec.Cmd) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = 5 * time.Second // for what it started and what holds its output
	return cmd.Run()
}

// lock waits until nobody else has the file locked; wait is called once when
// somebody has.
func lock(ctx context.Context, name string, wait func()) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	for told := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", name, err)
		}
		if !told {
			told = true
			wait()
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for the lock %s: %w", name, context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// workplace makes the directory of a run, and takes away those of runs that
// were killed: theirs nobody has locked.
func workplace(ctx context.Context, root string) (dir string, done func(), err error) {
	unlock, err := lock(ctx, filepath.Join(root, "runs.lock"), func() {})
	if err != nil {
		return "", nil, err
	}
	defer unlock()
	old, err := filepath.Glob(filepath.Join(root, "run-*"))
	if err != nil {
		return "", nil, err
	}
	for _, dir := range old {
		if free(filepath.Join(dir, "lock")) {
			os.RemoveAll(dir)
		}
	}
	if dir, err = os.MkdirTemp(root, "run-"); err != nil {
		return "", nil, err
	}
	release, err := lock(ctx, filepath.Join(dir, "lock"), func() {})
	if err != nil {
		return "", nil, err
	}
	return dir, func() { os.RemoveAll(dir); release() }, nil
}

// free tells whether nobody has a file locked.
func free(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return os.IsNotExist(err)
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
