package watch_test

import (
	"slices"
	"testing"

	"plumb/internal/series"
)

// TestTheLogBufferIsFull: where a good part of the writes of the log only make room in its buffer, that is what limits the server, and that
// sessions wait for the log is how it looks. Where commits have it written, it is not.
func TestTheLogBufferIsFull(t *testing.T) {
	for name, c := range map[string]struct {
		waits, writes  float64
		log, run, uses float64 // sessions that wait for the log, that seem to run, and processors that they use
		first          string
		also           []string
	}{
		"buffer":            {40, 60, 8, 2, 2, "log/buffer", []string{"log/flush"}},
		"commits":           {2, 900, 8, 2, 2, "log/flush", nil},
		"nobody waits long": {40, 60, 0, 2, 2, "", nil},
		"no wait":           {0, 900, 8, 2, 2, "log/flush", nil},
		"not told":          {40, 60, 0, 10, 0.2, "log/buffer", nil}, // as MariaDB does
	} {
		m := &made{}
		m.add(calm)
		m.add(load{seconds: 40, reads: 10, each: 0.2, sessions: map[series.Class]float64{series.ClassLog: c.log, series.ClassCPU: c.run}})
		m.counting(proc, "cpu_user_ms", 1000*c.uses)
		m.counting(proc, "cpu_system_ms", 0)
		m.counting(db, "log_waits", c.waits)
		m.counting(db, "redo_writes", c.writes)
		got := m.run(judge())
		want := c.also
		if c.first != "" {
			want = append([]string{c.first}, c.also...)
		}
		if !slices.Equal(ids(got), want) {
			t.Errorf("%s: raised %q, want %q", name, ids(got), want)
		}
	}
}
