package lab

import (
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/stats"
)

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
		for _, s := range one.Series {
			if !s.Warmup && s.Length > 0.5 {
				rates = append(rates, float64(s.Done)/s.Length)
			}
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
