package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
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
