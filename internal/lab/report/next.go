package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// Reasons why an experiment ends, besides that its stop rule was met.
const (
	AllDone       = "all blocks done"
	AllDecided    = "all is decided"
	BudgetUsed    = "time budget used up"
	NothingRuns   = "no arm could run"
	NothingPairs  = "of every comparison an arm could not run"
	NothingCounts = "no trial counted"
)

// hopeless is the number of blocks without a trial that counts after which
// more of the same are not worth their time.
const hopeless = 3

// Next tells whether another block is wanted, or the rest of one that was
// begun, and otherwise why not.
func Next(x experiment.Experiment, records []experiment.Record) (more bool, why string) {
	return tabulate(x, records).next()
}

func (t *table) next() (more bool, why string) {
	block, begun := t.open()
	switch {
	case !t.anyRuns(block):
		return false, NothingRuns
	case block > t.x.Most:
		return false, AllDone
	case begun || block == 1:
		return true, ""
	case !t.anyPairs(block):
		return false, NothingPairs
	case block > max(t.x.Least, hopeless) && t.nothingCounts():
		return false, NothingCounts
	case t.x.Until > 0 && t.settled(block, t.narrow):
		return false, fmt.Sprintf("±%s reached", units.RoundPercent(t.x.Until))
	case t.x.Decided && t.settled(block, t.sure):
		return false, AllDecided
	case t.x.Budget > 0 && t.took()+t.took()/time.Duration(block-1) > t.x.Budget:
		return false, BudgetUsed
	}
	return true, ""
}

// open gives the first block that lacks trials, and whether it has some. A
// trial that was carried out to its end is not done again, valid or not.
func (t *table) open() (block int, begun bool) {
	type cell struct {
		arm   string
		block int
	}
	settled := map[cell]bool{}
	for _, r := range t.records {
		if !r.Has(experiment.MarkCut) {
			settled[cell{r.Arm, r.Block}] = true
		}
	}
	for block = 1; ; block++ {
		lacks, has := false, false
		for _, a := range t.x.Arms {
			if settled[cell{a.Name, block}] {
				has = true
			} else if t.runs(a.Name, block) {
				lacks = true
			}
		}
		if lacks || !has {
			return block, has
		}
	}
}

func (t *table) anyRuns(block int) bool {
	return slices.ContainsFunc(t.x.Arms, func(a experiment.Arm) bool { return t.runs(a.Name, block) })
}

// anyPairs tells whether a comparison can gain by a block.
func (t *table) anyPairs(block int) bool {
	return len(t.x.Pairs) == 0 || slices.ContainsFunc(t.x.Pairs, func(p experiment.Pair) bool { return t.runs(p.Arm, block) && t.runs(p.Baseline, block) })
}

func (t *table) nothingCounts() bool {
	for _, blocks := range t.valid {
		if len(blocks) > 0 {
			return false
		}
	}
	return true
}

// settled tells whether a stop rule is met, and has been for some blocks. Noise
// that happens to look small both ends an experiment and makes its intervals
// too narrow: ending at once, up to a tenth of comparisons of equal arms would
// find a difference, in place of a twentieth. So when the rule is met after n
// blocks, as many as the root of n are added, whatever they bring; in
// simulations that leaves at most 7 %.
func (t *table) settled(block int, met func(n, block int) bool) bool {
	for n := max(2, t.x.Least); n < block; n++ {
		if met(n, block) {
			return block-1 >= n+int(math.Ceil(math.Sqrt(float64(n))))
		}
	}
	return false
}

// narrow tells whether, after the first n blocks, the interval of every
// comparison that can still gain was as narrow as is asked, or of every arm
// when nothing is compared.
func (t *table) narrow(n, block int) bool {
	least := max(2, t.x.Least)
	for _, p := range t.x.Pairs {
		if !t.runs(p.Arm, block) || !t.runs(p.Baseline, block) {
			continue
		}
		if c := stats.Compare(t.paired(p, n)); c.Effect.N < least || !(c.Reach() <= t.x.Until) {
			return false
		}
	}
	for _, a := range t.x.Arms {
		if len(t.x.Pairs) > 0 || !t.runs(a.Name, block) {
			continue
		}
		if e := t.metric(a.Name, n); e.N < least || !(half(e) <= t.x.Until) {
			return false
		}
	}
	return true
}

// half is half the width of an interval, as a part of the value; infinite when
// it is not known.
func half(e stats.Estimate) float64 {
	if e.N == 0 || !(e.Value > 0) {
		return math.Inf(1)
	}
	return (e.High - e.Low) / 2 / e.Value
}

// sure tells whether, after the first n blocks, every comparison that can still
// gain was decided, and there is one.
func (t *table) sure(n, block int) bool {
	compared := make([]stats.Comparison, len(t.x.Pairs))
	for i, p := range t.x.Pairs {
		compared[i] = stats.Compare(t.paired(p, n))
	}
	_, words := t.judged(compared)
	open := 0
	for i, p := range t.x.Pairs {
		if !t.runs(p.Arm, block) || !t.runs(p.Baseline, block) {
			continue
		}
		if open++; words[i] == Undecided || compared[i].Effect.N < max(2, t.x.Least) {
			return false
		}
	}
	return open > 0
}

// Missing gives the trials that the block at hand lacks, in their order. Of
// a block that is carried out together and lacks some it gives all: arms are
// compared with those that they took turns with.
func Missing(x experiment.Experiment, records []experiment.Record) (lacking []experiment.Trial) {
	t := tabulate(x, records)
	block, _ := t.open()
	wanted := slices.DeleteFunc(experiment.Order(x, block), func(trial experiment.Trial) bool { return !t.runs(trial.Arm, block) })
	for _, trial := range wanted {
		settled := slices.ContainsFunc(t.records, func(r experiment.Record) bool {
			return r.Arm == trial.Arm && r.Block == block && !r.Has(experiment.MarkCut)
		})
		if !settled {
			lacking = append(lacking, trial)
		}
	}
	if x.Together() && len(lacking) > 0 {
		return wanted
	}
	return lacking
}
