package experiment

import (
	"testing"
	"time"
)

func TestTurns(t *testing.T) {
	for _, c := range []struct {
		measure, each time.Duration
		n             int
	}{
		{8 * time.Second, 2 * time.Second, 4},
		{11 * time.Second, 11 * time.Second / 6, 6},
		{12 * time.Second, 2 * time.Second, 6},
		{time.Second, 500 * time.Millisecond, 2},
	} {
		if n, each := Turns(Experiment{Measure: c.measure}); n != c.n || each != c.each {
			t.Errorf("%s: %d turns of %s, want %d of %s", c.measure, n, each, c.n, c.each)
		}
	}
}

// Servers that take turns need data each; a block takes as long as trials one
// after the other, and what the turns cost.
func TestEstimateOfServersThatTakeTurns(t *testing.T) {
	u := Setup{Server: &Server{Engine: "postgres"}, Load: Load{Kind: OLTP}}
	x := Experiment{Design: Interleaved, Least: 1, Most: 1, Warmup: 5 * time.Second, Measure: 10 * time.Second, Arms: []Arm{{Setup: u}, {Setup: u}}}
	blocks := x
	blocks.Design = Blocks
	got, other := Estimate(x), Estimate(blocks)
	if more := got.Block - other.Block; more != 12*(Settle+halting) {
		t.Errorf("a block takes %s longer", more)
	}
	if got.Loading <= other.Loading {
		t.Errorf("loading takes %s, and %s in blocks", got.Loading, other.Loading)
	}
}
