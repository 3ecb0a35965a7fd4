package report

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plumb/internal/lab/experiment"
)

func expectNext(t *testing.T, what string, x experiment.Experiment, records []experiment.Record, more bool, why string) {
	t.Helper()
	if gotMore, gotWhy := Next(x, records); gotMore != more || gotWhy != why {
		t.Errorf("%s: %v %q, want %v %q", what, gotMore, gotWhy, more, why)
	}
	if r := Make(x, records); r.Complete == more || r.Stopped != why {
		t.Errorf("%s: complete %v, %q", what, r.Complete, r.Stopped)
	}
}

func blocksOf(x experiment.Experiment, n int, noise float64) (all []experiment.Record) {
	w := world{r: rand.New(rand.NewPCG(uint64(n), 7)), noise: noise, drift: 0.02}
	for b := range n {
		all = append(all, w.block(x, b+1)...)
	}
	return all
}

func TestNext(t *testing.T) {
	x := twoArms()
	x.Until = 0
	expectNext(t, "nothing yet", x, nil, true, "")
	expectNext(t, "seven of eight", x, blocksOf(x, 7, 0.02), true, "")
	expectNext(t, "all", x, blocksOf(x, 8, 0.02), false, AllDone)
	half := blocksOf(x, 8, 0.02)
	expectNext(t, "half of the last", x, half[:15], true, "")
	half[15].Mark(experiment.MarkThrottle, "limited")
	expectNext(t, "the last does not count", x, half, false, AllDone)
	half[15].Marks = []experiment.Mark{{Kind: experiment.MarkCut}}
	expectNext(t, "the last was cut off", x, half, true, "")
}

func TestNextUntil(t *testing.T) {
	x := twoArms()
	x.Most = 40
	same := [2]float64{100, 100}
	other := [2]float64{100, 101}
	steady := [][2]float64{same, other, same, other, same}
	expectNext(t, "three narrow blocks", x, values(x, steady[:3]...), true, "")
	expectNext(t, "two more", x, values(x, steady...), false, "±5 % reached")
	x.Until = 0.001
	expectNext(t, "much more is asked", x, values(x, steady...), true, "")
	x.Until, x.Pairs = 0.05, nil
	expectNext(t, "no comparison, arms alone", x, values(x, steady...), false, "±5 % reached")
}

func TestNextUntilDecided(t *testing.T) {
	x := twoArms()
	x.Until, x.Decided, x.Margin = 0, true, 0.03
	better := [][2]float64{{100, 150}, {101, 148}, {99, 151}, {100, 149}, {100, 150}}
	expectNext(t, "three clear blocks", x, values(x, better[:3]...), true, "")
	expectNext(t, "two more", x, values(x, better...), false, AllDecided)
	equal := [][2]float64{{100, 101}, {100, 100}, {101, 100}, {100, 101}, {101, 100}}
	expectNext(t, "no difference is a decision", x, values(x, equal...), false, AllDecided)
	open := [][2]float64{{100, 130}, {100, 70}, {100, 125}, {100, 80}, {100, 120}}
	expectNext(t, "nothing is decided", x, values(x, open...), true, "")

	three := manyArms(3)
	three.Until, three.Decided = 0, true
	one := func(arm1, arm2 float64) (all []experiment.Record) {
		for b := range 5 {
			noise := float64(b%2) + 100
			for p, v := range []float64{noise, noise * arm1, 100 * arm2} {
				all = append(all, record(experiment.Trial{Block: b + 1, Position: p + 1, Arm: three.Arms[p].Name}, v))
			}
		}
		return all
	}
	expectNext(t, "both are decided", three, one(1.5, 0.5), false, AllDecided)
	failed := one(1.5, 0.5)
	for i := range failed {
		if failed[i].Arm == "arm2" {
			failed[i].Mark(experiment.MarkFailed, "it does not start")
		}
	}
	expectNext(t, "what cannot run is not waited for", three, failed, false, AllDecided)
}

func TestNextBudget(t *testing.T) {
	x := twoArms()
	x.Until, x.Budget = 0, 4*time.Minute // a block takes one
	expectNext(t, "three blocks", x, blocksOf(x, 3, 0.02), true, "")
	expectNext(t, "four blocks", x, blocksOf(x, 4, 0.02), false, BudgetUsed)
	expectNext(t, "what was begun is ended", x, blocksOf(x, 5, 0.02)[:9], true, "")
	for records, want := range map[int]time.Duration{0: 0, 1: 0, 2: time.Minute, 3: 0, 6: time.Minute} {
		if got := Make(x, blocksOf(x, 3, 0.02)[:records]).Block; got != want {
			t.Errorf("after %d trials a block took %s", records, got)
		}
	}
}

func TestNextWithoutHope(t *testing.T) {
	x := manyArms(3)
	x.Until = 0
	records := blocksOf(x, 1, 0.02)
	fail := func(arms ...string) (all []experiment.Record) {
		for _, r := range slices.Clone(records) {
			if slices.Contains(arms, r.Arm) {
				r.Mark(experiment.MarkFailed, "refused")
			}
			all = append(all, r)
		}
		return all
	}
	expectNext(t, "one arm fails", x, fail("arm1"), true, "")
	expectNext(t, "the baseline fails", x, fail("arm0"), false, NothingPairs)
	expectNext(t, "all others fail", x, fail("arm1", "arm2"), false, NothingPairs)
	expectNext(t, "all fail", x, fail("arm0", "arm1", "arm2"), false, NothingRuns)
	records = blocksOf(x, 3, 0.02)
	for i := range records {
		records[i].Mark(experiment.MarkThrottle, "limited")
	}
	expectNext(t, "no trial counts", x, records, false, NothingCounts)
}

// Whatever became of trials, a lab that does what is missing comes to an end,
// and never does one twice that was carried out.
func TestNextEnds(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		x := manyArms(1 + r.IntN(4))
		x.Most = 1 + r.IntN(6)
		w := world{r: r, noise: 0.03, drift: 0.01}
		var records []experiment.Record
		steps := 0
		for more := true; more; more, _ = Next(x, records) {
			for _, trial := range Missing(x, records) {
				rec := record(trial, 100*(1+0.03*w.r.NormFloat64()))
				rec.Attempt = steps
				switch r.IntN(8) {
				case 0:
					rec.Mark(experiment.MarkCut, "killed")
				case 1:
					rec.Mark(experiment.MarkThrottle, "limited")
				case 2:
					rec.Mark(experiment.MarkFailed, "refused")
				}
				records = append(records, rec)
			}
			if steps++; steps > 100 {
				t.Fatalf("seed %d does not end: %d records", seed, len(records))
			}
		}
	}
}
