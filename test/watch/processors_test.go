package watch

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// needsProcessor excuses a scene whose verdict is not raised while no processor is free, if others of this machine left none from now
// on: then it cannot be told what the disk would do.
func (s *scene) needsProcessor() {
	const window = 10 * time.Second // the verdict's own is no longer
	least, most := min(1, 0.5*float64(runtime.NumCPU())), 0.0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for s.t.Context().Err() == nil {
			before, began := idleTicks(s.t), time.Now()
			select {
			case <-s.t.Context().Done():
				return
			case <-time.After(window):
			}
			free := (idleTicks(s.t) - before) / 100 / time.Since(began).Seconds()
			s.mu.Lock()
			most = max(most, free)
			s.mu.Unlock()
		}
	}()
	s.t.Cleanup(func() { <-done })
	s.excuse = func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		if most >= least {
			return ""
		}
		return fmt.Sprintf("others leave %.1f processors free at most, and the verdict needs %g", most, least)
	}
}

// idleTicks gives for how many hundredths of a second processors had nothing to do, or waited for disks.
func idleTicks(t *testing.T) float64 {
	text, err := os.ReadFile("/proc/stat")
	var name string
	var n [5]float64
	if err == nil {
		_, err = fmt.Fscan(strings.NewReader(string(text)), &name, &n[0], &n[1], &n[2], &n[3], &n[4])
	}
	if err != nil {
		t.Errorf("read /proc/stat: %v", err)
	}
	return n[3] + n[4]
}
