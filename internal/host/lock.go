package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/await"
)

// lockStep is the pause between two tries to take a lock.
const lockStep = 20 * time.Millisecond

// LockWithin takes a lock that another process may have for a while: it tries again until the time is over. The error is
// then ErrLocked, with the process that has the lock, where the kernel tells; or the context's, when that ended first.
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

// heldBy adds to the error of a lock which process has it.
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

// holderIn finds in the text of /proc/locks which process has a file locked; 0 where none is told. On filesystems whose
// files say another device than the kernel uses itself (btrfs, overlayfs), none is.
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

// Claim tells others who work in a directory that somebody does, until done is called or the process ends. Where
// nobody else does, alone is called first, and nobody begins meanwhile: what is unfinished there is then of runs that
// were killed. On a filesystem without such locks nobody is ever known to be alone.
func Claim(dir string, alone func(dir string) error) (done func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
		err = alone(dir)
	}
	_ = unix.Flock(int(f.Fd()), unix.LOCK_SH) // another one is alone for no longer than it tidies
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() { f.Close() }, nil
}
