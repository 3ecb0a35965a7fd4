package report

import (
	"math"
	"slices"

	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// metric is an arm's value, the mean over its first n blocks. What is measured cannot be
// below zero, so neither can its interval.
func (t *table) metric(arm string, n int) stats.Estimate {
	var values []float64
	for _, r := range t.trials(arm) {
		if r.Block <= n {
			values = append(values, r.Metric)
		}
	}
	return above(stats.Independent(values))
}

func above(e stats.Estimate) stats.Estimate {
	if e.Value >= 0 && !math.IsInf(e.Low, -1) {
		e.Low = max(0, e.Low)
	}
	return e
}

func (t *table) arm(a experiment.Arm) ArmResult {
	trials := t.trials(a.Name)
	out := ArmResult{Name: a.Name, Trials: len(trials), Metric: t.metric(a.Name, math.MaxInt), Failed: t.broken(a.Name)}
	if i := slices.IndexFunc(t.x.Published, func(p experiment.Published) bool { return p.Arm == a.Name }); i >= 0 {
		published := t.x.Published[i]
		out.Published = &published
	}
	out.Latency = latency(trials)
	out.Variation, out.Stalls = seconds(trials)
	out.Dips = t.dips(trials)
	out.Costs = costs(trials)
	return out
}

// seconds tells how much the measured seconds of trials vary, and how many in
// a thousand stalled; NaN when there are none.
func seconds(trials []*experiment.Record) (variation, stalls float64) {
	var all []float64
	stalled, n := 0, 0
	for _, r := range trials {
		rates := experiment.Rates(r.Series)
		stalled, n = stalled+stats.Stalls(rates), n+len(rates)
		if v := stats.Variation(rates); !math.IsNaN(v) {
			all = append(all, v)
		}
	}
	if n == 0 {
		return math.NaN(), math.NaN()
	}
	return stats.Independent(all).Value, 1000 * float64(stalled) / float64(n)
}

// costs averages what an operation took of each layer, over the trials that
// know it.
func costs(trials []*experiment.Record) (all []CostResult) {
	type key struct{ layer, name, unit string }
	at := map[key]int{}
	var values [][]float64
	for _, r := range trials {
		for _, c := range r.Costs {
			k := key{c.Layer, c.Name, c.Unit}
			i, have := at[k]
			if !have {
				i = len(all)
				at[k] = i
				all, values = append(all, CostResult{Layer: c.Layer, Name: c.Name, Unit: c.Unit, From: c.From}), append(values, nil)
			}
			values[i] = append(values[i], c.Value)
		}
	}
	for i := range all {
		all[i].Estimate = above(stats.Independent(values[i]))
	}
	return all
}
