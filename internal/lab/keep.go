package lab

import (
	"math"
	"slices"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/stats"
)

// keep puts what was measured into a record.
func keep(x experiment.Experiment, r *experiment.Record, m measured) {
	res := m.result
	r.Rate, r.Costs = res.Rate, m.costs
	r.Lent(m.stolen)
	r.Metric = metric(x.Metric, res)
	if math.IsNaN(r.Metric) || r.Metric <= 0 {
		r.Mark(experiment.MarkFailed, "there are no operations to compare")
		r.Metric = 0
	}
	for _, op := range res.Ops {
		if op.Done+op.Failed > 0 {
			r.Ops = append(r.Ops, experiment.Op{Name: op.Name, Done: op.Done, Failed: op.Failed, Retried: op.Retried, Histogram: packed(op.Response)})
		}
	}
	for _, s := range res.Series {
		r.Series = append(r.Series, second(s))
	}
	for _, mark := range res.Marks {
		sortMark(r, experiment.Mark{Kind: mark.Kind, Text: mark.Text})
	}
	if !x.Unsteady {
		markDrift(r, experiment.Rates(r.Series))
	}
}

// mostDrift is the part of its mean that a trial's rate may surely rise or fall
// from its beginning to its end.
const mostDrift = 0.10

// markDrift marks a trial whose rate drifts by more than noise explains. The
// rule of package load is for one long run: in a trial of seconds it would
// take noise for unsteadiness, and noise is what blocks are there for.
func markDrift(r *experiment.Record, rates []float64) {
	if d := stats.Drift(rates); d.Low > mostDrift || d.High < -mostDrift {
		r.Mark(load.MarkNotSteady, "the rate moved by %+.0f %% of its mean from beginning to end (%+.0f to %+.0f %%): the warm-up was too short, or something changed", 100*d.Value, 100*d.Low, 100*d.High)
	}
}

// metric gives the value that is compared: operations a second, or
// milliseconds.
func metric(name string, res *load.Result) float64 {
	s := res.Total.Response.Summary()
	switch name {
	case "mean":
		return ms(s.Mean)
	case "p50":
		return ms(s.P50)
	case "p95":
		return ms(s.P95)
	case "p99":
		return ms(s.P99)
	}
	return res.Rate.Value
}

func ms(d time.Duration) float64 { return 1000 * d.Seconds() }

// remarks are kinds of marks that a lab does not discard a trial for: how long
// a trial is was decided in the file, a generator beside the server takes the
// same part in all arms, and steadiness has a rule of its own here.
var remarks = []string{load.MarkTooShort, load.MarkCrowded, load.MarkNotSteady}

func sortMark(r *experiment.Record, m experiment.Mark) {
	if slices.Contains(remarks, m.Kind) {
		r.Remarks = append(r.Remarks, m)
		return
	}
	r.Marks = append(r.Marks, m)
}

func packed(l load.Latency) []byte {
	text, err := l.Packed()
	if err != nil {
		return nil // of an empty one
	}
	return text
}

func second(s load.Second) experiment.Second {
	return experiment.Second{At: s.At.Seconds(), Length: s.Length.Seconds(), Warmup: s.Warmup, Done: s.Done, Failed: s.Failed,
		P50: ms(s.Response.P50), P99: ms(s.Response.P99), Max: ms(s.Response.Max)}
}

// keepMerged puts the periods of one arm into its record. The arm's value is
// the mean of its periods: with the order A B B A their middles coincide, so a
// steady drift weighs on both arms alike.
func keepMerged(x experiment.Experiment, r *experiment.Record, periods []measured) {
	var rates, lent []float64
	var offset float64
	for _, m := range periods {
		var one experiment.Record
		if m.stolen != nil {
			lent = append(lent, *m.stolen)
		}
		m.stolen = nil // it is told of all periods together: a short one says little
		keep(x, &one, m)
		r.Metric += one.Metric / float64(len(periods))
		r.Marks, r.Remarks = append(r.Marks, one.Marks...), append(r.Remarks, one.Remarks...)
		rates = append(rates, experiment.Rates(one.Series)...)
		for _, s := range one.Series {
			s.At += offset
			r.Series = append(r.Series, s)
		}
		if n := len(r.Series); n > 0 {
			offset = r.Series[n-1].At
		}
	}
	if len(lent) == len(periods) {
		mean := 0.0
		for _, part := range lent {
			mean += part / float64(len(lent))
		}
		r.Lent(&mean)
	}
	r.Rate = stats.Mean(rates)
	r.Ops = mergeOps(periods)
	r.Costs = meanCosts(periods)
}

// mergeOps adds up the periods, kind by kind; their latencies are merged.
func mergeOps(periods []measured) (all []experiment.Op) {
	for i, op := range periods[0].result.Ops { // the kinds are the same in each
		sum, whole := experiment.Op{Name: op.Name}, load.NewLatency()
		for _, m := range periods {
			one := m.result.Ops[i]
			sum.Done, sum.Failed, sum.Retried = sum.Done+one.Done, sum.Failed+one.Failed, sum.Retried+one.Retried
			whole.Merge(one.Response.Histogram)
		}
		if sum.Histogram = packed(whole); sum.Done+sum.Failed > 0 {
			all = append(all, sum)
		}
	}
	return all
}

// meanCosts averages what each operation took, over the periods that know it.
func meanCosts(periods []measured) (all []experiment.Cost) {
	at, n := map[[2]string]int{}, map[[2]string]float64{}
	for _, m := range periods {
		for _, c := range m.costs {
			key := [2]string{c.Layer, c.Name}
			i, had := at[key]
			if !had {
				at[key], all = len(all), append(all, c)
			} else {
				all[i].Value += (c.Value - all[i].Value) / (n[key] + 1)
			}
			n[key]++
		}
	}
	return all
}
