package watch_test

import (
	"testing"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// TestChangesAreHeldUpUntilPurgeCatchesUp: no server tells that it lets changes sleep. Ten sessions that seem to run and use no
// processor, with a history that is longer than it may be, do.
func TestChangesAreHeldUpUntilPurgeCatchesUp(t *testing.T) {
	for name, c := range map[string]struct {
		lag, delay int64
		length     float64 // below 0: not told
		processors float64
		want       string
		unknown    bool
	}{
		"held up":            {100_000, 50_000, 400_000, 0.2, "purge/lag", false},
		"they use the CPU":   {100_000, 50_000, 400_000, 3.9, "", false},
		"a short history":    {100_000, 50_000, 900, 0.2, "", false},
		"nobody is held up":  {100_000, 0, 400_000, 0.2, "", false},
		"length not told":    {100_000, 50_000, -1, 0.2, "", true},
		"no limit, not told": {0, 0, -1, 0.2, "", false},
	} {
		p := picture()
		server := p.Find(db)
		server.Set("innodb_max_purge_lag", stack.Int(c.lag), "test")
		server.Set("innodb_max_purge_lag_delay", stack.Int(c.delay), "test")
		l := load{seconds: 40, reads: 10, each: 0.2, sessions: map[series.Class]float64{series.ClassCPU: 10}}
		if c.length >= 0 {
			l.readings = map[series.ID]float64{{Of: db, Name: "history_list_length"}: c.length}
		}
		m := &made{}
		m.add(calm)
		m.add(l)
		m.counting(proc, "cpu_user_ms", 1000*c.processors)
		m.counting(proc, "cpu_system_ms", 0)
		got := m.feed(judge(), p)
		if v := find(got, "purge/lag"); (v != nil) != (c.want != "") || (unknownOf(got, "purge/lag") != nil) != c.unknown {
			t.Errorf("%s: raised %q; %+v", name, ids(got), unknownOf(got, "purge/lag"))
		}
		if c.want != "" && (len(got.Verdicts) != 1 || got.Verdicts[0].Share == nil) {
			t.Errorf("%s: raised %q", name, ids(got))
		}
	}
}
