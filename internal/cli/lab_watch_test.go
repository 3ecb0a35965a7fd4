package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// What the budget will not do for is said once, as soon as a block is done, and not when hours later the experiment ends.
func TestLabSaysThatTheBudgetWillNotDo(t *testing.T) {
	const says = "note: a block took 7m, and the 3 blocks that it needs take 21m: the budget of 15m will end it before that\n"
	for what, c := range map[string]struct {
		stage         string
		block, budget time.Duration
		want          int
	}{
		"it will not":     {"", 7 * time.Minute, 15 * time.Minute, 1},
		"it will":         {"", 7 * time.Minute, 21 * time.Minute, 0},
		"no block yet":    {"", 0, 15 * time.Minute, 0},
		"no budget":       {"", 7 * time.Minute, 0, 0},
		"a stage is lent": {"settings", 7 * time.Minute, 15 * time.Minute, 0},
	} {
		var out bytes.Buffer
		w := &labWatcher{stage: c.stage, out: &out, told: map[experiment.Trial]bool{}}
		for n := range 3 {
			p := lab.Progress{Trial: experiment.Trial{Block: 2, Position: n + 1, Arm: "a"}, Doing: "measuring"}
			p.Report = report.Report{Experiment: experiment.Experiment{Least: 3, Most: 8, Budget: c.budget}, Block: c.block}
			w.Progress(p)
		}
		if n := strings.Count(out.String(), says); n != c.want || strings.Count(out.String(), "note:") != n {
			t.Errorf("%s: it says\n%s", what, &out)
		}
	}
}
