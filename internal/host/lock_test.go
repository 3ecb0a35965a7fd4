package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"plumb/internal/host/walk"
)

// A lock that is given back in time is taken, however often it was tried before.
func TestLockWithinWaits(t *testing.T) {
	live := NewLiveDoer(newTestLive(t, LiveOptions{}))
	file := t.TempDir() + "/lock"
	unlock, err := live.Lock(t.Context(), file)
	must(t, err)
	tries := 0
	d := &Hooked{Behind: live, Around: func(_ context.Context, c Call, do func() error) error {
		if c.Op == "lock" {
			if tries++; tries == 3 {
				unlock()
			}
		}
		return do()
	}}
	again, err := LockWithin(t.Context(), d, file, time.Hour)
	must(t, err)
	again()
	if tries != 3 {
		t.Errorf("taken at try %d", tries)
	}
}

func TestLockWithinGivesUp(t *testing.T) {
	d := NewLiveDoer(newTestLive(t, LiveOptions{}))
	file := t.TempDir() + "/lock"
	unlock, err := d.Lock(t.Context(), file)
	must(t, err)
	defer unlock()
	_, err = LockWithin(t.Context(), d, file, 0)
	if !errors.Is(err, ErrLocked) {
		t.Errorf("%v", err)
	}
	if ours := fmt.Sprintf("process %d (", os.Getpid()); strings.Contains(err.Error(), "process ") && strings.Contains(err.Error(), " (") && !strings.Contains(err.Error(), ours) {
		t.Errorf("another is said to have it than we: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = LockWithin(ended, d, file, time.Hour); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLocked) {
		t.Errorf("ended: %v", err)
	}
	if _, err := LockWithin(t.Context(), d, file+"/none", time.Hour); err == nil || errors.Is(err, ErrLocked) {
		t.Errorf("a path that cannot be a lock: %v", err)
	}
}

// TestLockOnce: its file is gone with it, and whoever takes the name next keeps his.
func TestLockOnce(t *testing.T) {
	d := NewLiveDoer(newTestLive(t, LiveOptions{}))
	file := t.TempDir() + "/lock"
	unlock, err := LockOnce(t.Context(), d, file)
	must(t, err)
	if _, err := LockOnce(t.Context(), d, file); !errors.Is(err, ErrLocked) {
		t.Errorf("twice: %v", err)
	}
	unlock()
	if _, err := os.Lstat(file); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	next, err := d.Lock(t.Context(), file)
	must(t, err)
	defer next()
	unlock()
	if _, err := d.Lock(t.Context(), file); !errors.Is(err, ErrLocked) {
		t.Errorf("the first to have it took it from the next: %v", err)
	}
}

// TestLockOfARemovedFile: whoever opened the file of a lock before it was removed does not get the lock, since others lock the next
// file of that name.
func TestLockOfARemovedFile(t *testing.T) {
	file := t.TempDir() + "/lock"
	must(t, at(file, walk.How{}, func(p walk.Place) error {
		early, err := p.Open(unix.O_RDWR|unix.O_CREAT, 0o600)
		must(t, err)
		defer release(early)
		must(t, p.Remove())
		if err := flock(early, p); !errors.Is(err, ErrLocked) {
			t.Errorf("a lock on a file without a name: %v", err)
		}
		late, err := p.Open(unix.O_RDWR|unix.O_CREAT, 0o600)
		must(t, err)
		defer release(late)
		if err := flock(early, p); !errors.Is(err, ErrLocked) {
			t.Errorf("a lock beside that of the new file: %v", err)
		}
		return flock(late, p)
	}))
}

const someLocks = `1: POSIX  ADVISORY  WRITE 11 08:02:126 0 EOF
2: FLOCK  ADVISORY  WRITE 22 08:02:126 0 EOF
2: -> FLOCK  ADVISORY  WRITE 33 08:02:126 0 EOF
3: FLOCK  ADVISORY  WRITE -1 00:2f:7 0 EOF
`

func TestHolderIn(t *testing.T) {
	for _, c := range []struct {
		of   Stat
		want int
	}{
		{Stat{DevMajor: 8, DevMinor: 2, Inode: 126}, 22},
		{Stat{DevMajor: 8, DevMinor: 2, Inode: 127}, 0},
		{Stat{DevMajor: 8, DevMinor: 18, Inode: 126}, 0},
		{Stat{DevMinor: 47, Inode: 7}, 0}, // of a process that cannot be seen
	} {
		if got := holderIn([]byte(someLocks), c.of); got != c.want {
			t.Errorf("%+v: process %d, want %d", c.of, got, c.want)
		}
	}
}

func FuzzHolderIn(f *testing.F) {
	f.Add([]byte(someLocks), uint64(126))
	f.Add([]byte("1: FLOCK\n"), uint64(0))
	f.Fuzz(func(t *testing.T, text []byte, inode uint64) {
		if pid := holderIn(text, Stat{DevMajor: 8, DevMinor: 2, Inode: inode}); pid < 0 {
			t.Errorf("process %d", pid)
		}
	})
}
