package report

import (
	"math"
	"slices"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// Make judges records.
func Make(x experiment.Experiment, records []experiment.Record) Report {
	t := tabulate(x, records)
	r := Report{Experiment: x, Records: t.records, Done: t.done(), Took: t.took()}
	if len(t.records) > 0 {
		r.Began = t.records[0].Began
	}
	if next, begun := t.open(); next > 1 && !begun {
		r.Block = r.Took / time.Duration(next-1)
	}
	for _, a := range x.Arms {
		r.Arms = append(r.Arms, t.arm(a))
	}
	compared := t.comparisons()
	r.Verdicts = t.verdicts(compared)
	r.Curves = t.curves(r.Arms)
	r.Invalid = t.invalid()
	r.Noise = stats.Pooled(compared)
	r.Smallest = stats.Detectable(r.Noise.Value, r.Done)
	more, why := t.next()
	r.Complete = !more
	r.Stopped = why
	r.Answer = answer(r)
	return r
}

// comparisons compares the arms of each pair over the blocks that have both.
func (t *table) comparisons() []stats.Comparison {
	all := make([]stats.Comparison, len(t.x.Pairs))
	for i, p := range t.x.Pairs {
		all[i] = stats.Compare(t.paired(p, math.MaxInt))
	}
	return all
}

// paired gives what the first n blocks measured of a pair.
func (t *table) paired(p experiment.Pair, n int) (pairs []stats.Paired) {
	for block, a := range t.valid[p.Arm] {
		if b := t.valid[p.Baseline][block]; b != nil && block <= n {
			pairs = append(pairs, stats.Paired{Block: block, A: a.Metric, B: b.Metric})
		}
	}
	return pairs
}

// invalid lists what does not count, in the order in which it ran.
func (t *table) invalid() (all []Invalid) {
	for _, r := range t.records {
		if !r.Valid() {
			all = append(all, Invalid{Trial: r.Trial, Attempt: r.Attempt, Marks: slices.Clone(r.Marks)})
		}
	}
	return all
}

// took is the time in which a trial ran; arms that were switched in one run
// share theirs.
func (t *table) took() (sum time.Duration) {
	var until time.Time
	for _, r := range t.records { // by their beginning
		from := r.Began
		if from.Before(until) {
			from = until
		}
		if r.Ended.After(from) {
			sum += r.Ended.Sub(from)
			until = r.Ended
		}
	}
	return sum
}
