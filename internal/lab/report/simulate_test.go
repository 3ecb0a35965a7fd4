package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// What is tested here was not measured: records come out of a generator.

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// twoArms is an experiment that compares b with a.
func twoArms() experiment.Experiment {
	return experiment.Experiment{
		Name: "two", Arms: []experiment.Arm{{Name: "a"}, {Name: "b"}}, Pairs: []experiment.Pair{{Arm: "b", Baseline: "a"}},
		Design: experiment.Blocks, Least: 3, Most: 8, Until: 0.05, Metric: "rate", Margin: 0.02, Seed: 1,
	}
}

// manyArms compares all others with the first.
func manyArms(n int) experiment.Experiment {
	x := twoArms()
	x.Arms, x.Pairs = nil, nil
	for i := range n {
		x.Arms = append(x.Arms, experiment.Arm{Name: fmt.Sprint("arm", i)})
		if i > 0 {
			x.Pairs = append(x.Pairs, experiment.Pair{Arm: fmt.Sprint("arm", i), Baseline: "arm0"})
		}
	}
	return x
}

// world is what the simulated lab measures.
type world struct {
	r      *rand.Rand
	noise  float64            // of a trial
	drift  float64            // of a block
	effect map[string]float64 // by arm
}

// block gives the records of a block: seconds that depend on one another
// (AR(1), 0.8) around a level that belongs to the trial.
func (w world) block(x experiment.Experiment, number int) (all []experiment.Record) {
	level := 1000 * math.Exp(w.drift*float64(number)+w.drift*w.r.NormFloat64())
	for i, t := range experiment.Order(x, number) {
		trial := level * (1 + w.effect[t.Arm]) * math.Exp(w.noise*w.r.NormFloat64()-0.1*w.drift*float64(t.Position))
		rec := record(t, trial)
		y, sum := w.r.NormFloat64(), 0.0
		for s := range 20 {
			v := max(0, trial*(1+0.05*y))
			y = 0.8*y + 0.6*w.r.NormFloat64()
			sum += v / 20
			rec.Series = append(rec.Series, experiment.Second{At: float64(s + 1), Length: 1, Done: int64(v)})
		}
		rec.Metric = sum
		rec.Rate = stats.Estimate{Value: sum, Low: 0.9 * sum, High: 1.1 * sum, N: 20}
		rec.Began = start.Add(time.Duration((number-1)*len(x.Arms)+i) * time.Minute)
		rec.Ended = rec.Began.Add(30 * time.Second)
		all = append(all, rec)
	}
	return all
}

// record is a trial with a value and nothing else.
func record(t experiment.Trial, value float64) experiment.Record {
	began := start.Add(time.Duration(t.Block*100+t.Position) * time.Minute)
	return experiment.Record{Trial: t, Attempt: 1, ID: fmt.Sprintf("%d-%d", t.Block, t.Position), Began: began, Ended: began.Add(30 * time.Second), Metric: value, Rate: stats.Estimate{Value: value, N: 1}}
}

// carryOut goes on as a lab does, until Next says that it is enough.
func (w world) carryOut(x experiment.Experiment) (records []experiment.Record) {
	for block := 1; ; block++ {
		if more, _ := Next(x, records); !more {
			return records
		}
		records = append(records, w.block(x, block)...)
	}
}

// Equal arms are seldom called different, whatever the noise is and wherever
// the stop rule ends it, and among many arms no more often than among two.
func TestEqualArmsAreSeldomDifferent(t *testing.T) {
	long, decided, some := twoArms(), twoArms(), manyArms(5)
	long.Most = 20
	decided.Until, decided.Decided = 0, true
	some.Until, some.Decided = 0, true
	for _, c := range []struct {
		x     experiment.Experiment
		noise float64
		tries int
	}{{twoArms(), 0.005, 1000}, {twoArms(), 0.02, 2500}, {twoArms(), 0.04, 4000}, {long, 0.05, 1500}, {manyArms(5), 0.02, 1000}, {decided, 0.02, 2500}, {some, 0.02, 1000}} {
		c.x.Margin = 0.001
		w := world{r: rand.New(rand.NewPCG(uint64(c.tries), 1)), noise: c.noise, drift: 0.02}
		wrong, blocks := 0, 0
		for range c.tries {
			all := tabulate(c.x, w.carryOut(c.x))
			blocks += len(all.blocks())
			if _, words := all.judged(all.comparisons()); slices.Contains(words, Better) || slices.Contains(words, Worse) {
				wrong++
			}
		}
		share := 100 * float64(wrong) / float64(c.tries)
		t.Logf("%d arms, noise %g: %.2f %% of %d, %.1f blocks each", len(c.x.Arms), c.noise, share, c.tries, float64(blocks)/float64(c.tries))
		if share > 7 || share < 2 {
			t.Errorf("%d arms, noise %g: %.2f %% of experiments with equal arms found a difference", len(c.x.Arms), c.noise, share)
		}
	}
}

// A planted 5 % is found once as many blocks were done as were promised.
func TestPlantedDifferenceIsFound(t *testing.T) {
	x := twoArms()
	x.Until = 0
	w := world{r: rand.New(rand.NewPCG(5, 1)), noise: 0.02, drift: 0.02, effect: map[string]float64{"b": 0.05}}
	open, found := 0, 0
	for range 300 {
		var records []experiment.Record
		for b := range 3 {
			records = append(records, w.block(x, b+1)...)
		}
		v := Make(x, records).Verdicts[0]
		if v.Word != Undecided {
			continue
		}
		for b := range v.More {
			records = append(records, w.block(x, 4+b)...)
		}
		open++
		if v := Make(x, records).Verdicts[0]; v.Word == Better {
			found++
		}
	}
	if open < 30 || found*100 < 75*open {
		t.Errorf("of %d that were open, %d were found at the promised number of blocks", open, found)
	}
}
