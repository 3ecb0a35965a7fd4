package lab

import (
	"strings"
	"testing"

	"plumb/internal/host/self"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/stats"
)

// A trial to which the machine lent less time is marked, by the way that every
// trial goes: the kernel's ticks before and after, into the record. So are
// the periods of servers that take turns, all together.
func TestStolenTimeMarksATrial(t *testing.T) {
	const before = "cpu  1000 0 1000 8000 0 0 0 0 0 0"
	for _, c := range []struct {
		name, after string
		marked      bool
		known       bool
	}{
		{"nothing stolen", "cpu  1500 0 1000 8500 0 0 0 0 0 0", false, true},
		{"a little", "cpu  1500 0 1000 8460 0 0 0 40 0 0", false, true},
		{"too much", "cpu  1500 0 1000 8200 0 0 0 300 0 0", true, true},
		{"not known", "intr 5", false, false},
	} {
		readings := []string{before, c.after}
		count := &counting{ticks: func() self.Ticks {
			line := readings[0]
			readings = readings[1:]
			return self.ParseTicks([]byte(line))
		}}
		count.machine = count.ticks()
		m := measured{stolen: count.stolen(), result: &load.Result{Rate: stats.Estimate{Value: 100}}}
		var one, turns experiment.Record
		x := experiment.Experiment{Unsteady: true}
		keep(x, &one, m)
		keepMerged(x, &turns, []measured{m, m})
		for how, r := range map[string]experiment.Record{"one load": one, "in turns": turns} {
			if r.Has(experiment.MarkDisturbed) != c.marked || (r.Stolen != nil) != c.known {
				t.Errorf("%s, %s: %v, %+v", c.name, how, r.Stolen, r.Marks)
			}
			if c.marked && !strings.Contains(r.Marks[len(r.Marks)-1].Text, "took 30 % of the processors") {
				t.Errorf("%s: %+v", how, r.Marks)
			}
		}
	}
}
