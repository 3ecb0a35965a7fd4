package watch

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"plumb/internal/host/proc"
	"plumb/internal/host/self"
)

// free is how much of the machine a scene had: of one window, in processors.
type free struct {
	left   float64 // nobody used
	others float64 // used by others than the scene
}

// busyFor is how long processors are looked at at a time: no verdict looks at less.
const busyFor = 10 * time.Second

// processors looks from now on whether others leave a scene the processors that its incident was made for. What it gives says
// why nothing can be told of the scene, or "": on a machine whose others have the processors, sessions wait for those first.
func (s *scene) processors() (excuse func() string) {
	windows, done := []free{}, make(chan struct{})
	go func() {
		defer close(done)
		for s.t.Context().Err() == nil {
			before, own, began := self.Machine(), s.used(), time.Now()
			select {
			case <-s.t.Context().Done():
				return
			case <-time.After(busyFor):
			}
			part := self.Machine().Since(before)
			if part == nil {
				continue
			}
			all := float64(runtime.NumCPU())
			w := free{left: all * (1 - *part)}
			w.others = all - w.left - (s.used()-own).Seconds()/time.Since(began).Seconds()
			s.mu.Lock()
			windows = append(windows, w)
			s.mu.Unlock()
		}
	}()
	s.t.Cleanup(func() { <-done })
	return func() string {
		s.mu.Lock()
		defer s.mu.Unlock()
		return crowded(windows, runtime.NumCPU())
	}
}

// crowded says that others left no processor free in any window, though the scene itself would have.
func crowded(windows []free, processors int) string {
	least, most, alone := min(1, 0.5*float64(processors)), 0.0, 0.0
	for _, w := range windows {
		most, alone = max(most, w.left), max(alone, w.left+w.others)
	}
	if len(windows) == 0 || most >= least || alone < least {
		return ""
	}
	return fmt.Sprintf("others use the processors: at most %.1f were free, and the scene needs %g", most, least)
}

// used gives the processor time of the server, with the processes of its sessions, and of this process, which asks it.
func (s *scene) used() time.Duration {
	ticks, server := 0.0, strconv.Itoa(s.server.PID)
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		pid, _, rest, ok := proc.SplitStat(text)
		if err != nil || !ok || len(rest) < 15 || pid != server && rest[1] != server {
			continue
		}
		times := rest[11:13]
		if pid == server { // and of sessions that have ended
			times = rest[11:15]
		}
		for _, t := range times {
			n, _ := strconv.ParseFloat(t, 64)
			ticks += n
		}
	}
	return self.CPU() + time.Duration(ticks*float64(time.Second/100))
}

// TestCrowded: a scene is excused by what others use of the processors, and by nothing that it does itself.
func TestCrowded(t *testing.T) {
	for name, c := range map[string]struct {
		windows []free
		want    bool
	}{
		"others have them":         {[]free{{0.1, 1.5}, {0.4, 1.2}}, true},
		"one moment was free":      {[]free{{0.1, 1.5}, {1.2, 0.4}}, false},
		"the scene itself":         {[]free{{0.1, 0.1}, {0.2, 0.0}}, false},
		"others hardly matter":     {[]free{{0.1, 0.3}}, false},
		"nothing was looked at":    {nil, false},
		"it has all of a machine ": {[]free{{1.9, 0}}, false},
	} {
		if got := crowded(c.windows, 2); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
