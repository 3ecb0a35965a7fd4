package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/await"
)

// lockStep is the pause between two tries to take a lock.
const lockStep = 20 * time.Millisecond

// LockWithin is Doer.Lock, but keeps trying for as long as most. If another process still has the lock then, the error is ErrLocked, and
// names the process if the kernel tells. If the context ends first, it is the context's.
func LockWithin(ctx context.Context, d Doer, name string, most time.Duration) (unlock func(), err error) {
	for late := time.Now().Add(most); ; {
		unlock, err = d.Lock(ctx, name)
		if !errors.Is(err, ErrLocked) {
			return unlock, err
		}
		if !time.Now().Before(late) {
			return nil, heldBy(ctx, d, name, err)
		}
		if err := await.Pause(ctx, lockStep); err != nil {
			return nil, fmt.Errorf("wait for the lock %s: %w", name, err)
		}
	}
}

// LockOnce is Doer.Lock for a name that is hardly used twice: unlock also removes the file, so that they do not pile up. After a crash
// it stays, and is removed by whoever locks it next.
func LockOnce(ctx context.Context, d Doer, name string) (unlock func(), err error) {
	held, err := d.Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() {
		_ = d.Remove(context.WithoutCancel(ctx), name) // an empty file that stays is in nobody's way
		held()
	}), nil
}

// heldBy adds to the error of a lock the process that has it.
func heldBy(ctx context.Context, r Reader, name string, err error) error {
	st, failed := r.Stat(ctx, name)
	if failed != nil {
		return err
	}
	locks, failed := r.ReadFile(ctx, "/proc/locks")
	pid := holderIn(locks, st)
	if failed != nil || pid == 0 {
		return err
	}
	program, failed := r.ReadFile(ctx, fmt.Sprintf("/proc/%d/comm", pid))
	if failed != nil {
		return fmt.Errorf("%w: process %d", err, pid)
	}
	return fmt.Errorf("%w: process %d (%s)", err, pid, strings.TrimSpace(string(program)))
}

// holderIn finds in the text of /proc/locks the process that has a file locked; 0 if it is not there. It never is on filesystems whose
// files name another device than the kernel itself uses (btrfs, overlayfs).
func holderIn(locks []byte, of Stat) int {
	file := fmt.Sprintf("%02x:%02x:%d", of.DevMajor, of.DevMinor, of.Inode)
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK  ADVISORY  WRITE 2379 00:2f:126 0 EOF; one that waits has "->" in the second place
		if f := strings.Fields(line); len(f) > 5 && f[1] == "FLOCK" && f[5] == file {
			if pid, err := strconv.Atoi(f[4]); err == nil && pid > 0 {
				return pid
			}
		}
	}
	return 0
}

// Claim marks a directory as one that this process works in, until done is called or the process ends. If no other process works there,
// alone is called first, and no other begins meanwhile: what is unfinished in the directory is then the rest of killed runs, and alone may
// tidy it. On a filesystem without locks alone is never called.
func Claim(dir string, alone func(dir string) error) (done func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		err = alone(dir)
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_SH) // waits no longer than another process takes to tidy
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}
