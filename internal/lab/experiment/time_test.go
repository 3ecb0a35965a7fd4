package experiment

import (
	"testing"
	"time"
)

func TestEstimateAddsUp(t *testing.T) {
	x := Experiment{Design: Blocks, Least: 2, Most: 4, Warmup: 5 * time.Second, Measure: 10 * time.Second}
	u := Setup{Load: Load{Kind: FileIO, Total: 10 * copying}}
	x.Arms = []Arm{{Name: "a", Setup: u}, {Name: "b", Setup: u}}
	trial := fresh + 25*time.Second
	if got, want := Estimate(x), (Times{Loading: making + 10*time.Second, Block: 2 * trial, Least: making + 10*time.Second + 4*trial, Most: making + 10*time.Second + 8*trial}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	x.Budget = 3 * time.Minute
	if got := Estimate(x); got.Most != x.Budget || got.Short {
		t.Errorf("%+v", got)
	}
	x.Budget = time.Minute
	if got := Estimate(x); got.Most != got.Least || !got.Short {
		t.Errorf("%+v", got)
	}
}

func TestEstimateOfASwitchedServer(t *testing.T) {
	u := Setup{Server: &Server{Engine: "mariadb"}, Load: Load{Kind: OLTP}}
	x := Experiment{Design: ABBA, Least: 1, Most: 1, Warmup: 5 * time.Second, Measure: 10 * time.Second, Arms: []Arm{{Setup: u}, {Setup: u}}}
	blocks := x
	blocks.Design = Blocks
	if got, other := Estimate(x).Block, Estimate(blocks).Block; got < 45*time.Second || got > other+20*time.Second {
		t.Errorf("%s, and %s in blocks", got, other)
	}
}
