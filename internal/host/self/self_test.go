package self

import (
	"testing"
	"time"
)

func TestCPUTimeGrowsWithWork(t *testing.T) {
	before := CPU()
	for start := time.Now(); CPU()-before < 5*time.Millisecond; { // on a busy machine a second of work can be none
		if time.Since(start) > time.Minute {
			t.Fatalf("a minute of work used %s", CPU()-before)
		}
	}
}

func TestSleeperIsExact(t *testing.T) {
	s := NewSleeper()
	defer s.Close()
	const late = 900 * time.Microsecond
	best := time.Hour
	for n, began := 0, time.Now(); n < 50 || best > late && time.Since(began) < time.Minute; n++ { // a busy machine wakes nobody in time
		start := time.Now()
		s.Sleep(200 * time.Microsecond)
		if d := time.Since(start); d < 200*time.Microsecond {
			t.Fatalf("slept %s, asked for 200µs", d)
		} else {
			best = min(best, d)
		}
	}
	if best > late {
		t.Errorf("the best of all sleeps of 200µs took %s", best)
	}
}

func TestMachineTicks(t *testing.T) {
	a := ParseTicks([]byte("cpu  100 0 50 800 50 0 0 0 7 0"))
	b := ParseTicks([]byte("cpu  150 0 100 850 50 0 0 0 7 0"))
	if part := b.Since(a); part == nil || *part != 100.0/150 {
		t.Errorf("busy part = %v, want 2/3", part)
	}
	for _, bad := range []string{"", "cpu0 1 2 3 4 5 6 7 8", "cpu 1 2 3", "cpu a b c d e f g h"} {
		if part := ParseTicks([]byte(bad)).Since(a); part != nil {
			t.Errorf("%q gives %v, want unknown", bad, *part)
		}
	}
	if Machine() == (Ticks{}) {
		t.Error("/proc/stat could not be read")
	}
}

func FuzzTicks(f *testing.F) {
	f.Add([]byte("cpu  100 0 50 800 50 0 0 0 7 0"))
	f.Fuzz(func(t *testing.T, line []byte) { ParseTicks(line).Since(Ticks{busy: 1, all: 2}) })
}
