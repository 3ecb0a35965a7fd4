package report

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// spectrum is the distributions of several trials over the same durations.
type spectrum struct {
	upper  []float64   // of each bar of the histograms, ms, rising
	middle []float64   // ms
	counts [][]float64 // by trial, by bar
	n      int64
	sums   []float64 // by bar; used again by each summary
}

// latency merges the histograms of trials. Percentiles are those of the whole,
// with intervals by drawing whole trials again.
func latency(trials []*experiment.Record) Latency {
	s, broken := spectrumOf(trials)
	l := Latency{N: s.n}
	if s.n == 0 {
		return l
	}
	all := stats.Bootstrap(len(s.counts), 1, s.summary)
	if broken > 0 {
		for i := range all {
			all[i].Warnings = append(all[i].Warnings, fmt.Sprintf("the histograms of %s could not be read", units.Count(broken, "trial")))
		}
	}
	l.Mean, l.P50, l.P95, l.P99 = all[0], all[1], all[2], all[3]
	l.Max = stats.Estimate{Value: s.upper[len(s.upper)-1], Low: math.Inf(-1), High: math.Inf(1), N: l.Mean.N,
		Warnings: []string{"a maximum has no interval: it grows with the length of the run"}}
	return l
}

// spectrumOf reads the histograms; those that cannot be read are counted.
func spectrumOf(trials []*experiment.Record) (s spectrum, broken int) {
	type bar struct{ upper, middle int64 }
	var read []map[bar]int64
	bars := map[bar]bool{}
	for _, r := range trials {
		one, ok := map[bar]int64{}, true
		for _, op := range r.Ops {
			if len(op.Histogram) == 0 {
				continue
			}
			h, err := load.Unpack(op.Histogram)
			if err != nil {
				ok = false
				break
			}
			for _, b := range h.Distribution() {
				if b.Count > 0 {
					one[bar{b.To, b.From + (b.To-b.From+1)/2}] += b.Count
				}
			}
		}
		switch {
		case !ok:
			broken++
		case len(one) > 0:
			read = append(read, one)
			for b := range one {
				bars[b] = true
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(bars), func(a, b bar) int { return cmp.Compare(a.upper, b.upper) })
	const perMS = 1e6
	for _, b := range order {
		s.upper, s.middle = append(s.upper, float64(b.upper)/perMS), append(s.middle, float64(b.middle)/perMS)
	}
	for _, one := range read {
		trial := make([]float64, len(order))
		for i, b := range order {
			trial[i] = float64(one[b])
			s.n += one[b]
		}
		s.counts = append(s.counts, trial)
	}
	s.sums = make([]float64, len(order))
	return s, broken
}

// summary gives mean, p50, p95 and p99 of the trials together, each taken as
// many times as is said. Ranks are those of HdrHistogram.
func (s spectrum) summary(times []int) []float64 {
	clear(s.sums)
	for i, trial := range s.counts {
		if k := float64(times[i]); k > 0 {
			for j, n := range trial {
				s.sums[j] += n * k
			}
		}
	}
	var total, sum float64
	for j, n := range s.sums {
		total, sum = total+n, sum+n*s.middle[j]
	}
	out := []float64{sum / total}
	var passed float64
	j := 0
	for _, q := range []float64{0.5, 0.95, 0.99} {
		rank := min(max(1, math.Floor(q*total+0.5)), total)
		for j+1 < len(s.sums) && passed+s.sums[j] < rank {
			passed += s.sums[j]
			j++
		}
		out = append(out, s.upper[j])
	}
	return out
}

// manyStalls is the part of the seconds, in a thousand, from which on a server
// that stands still shows too rarely among the response times.
const manyStalls = 50

// HiddenStalls lists the arms that stood still so often that percentiles of
// their response time mislead: in a closed loop a client that waits asks for
// nothing meanwhile, so a stall of ten seconds is one slow response among
// thousands of fast ones.
func (r Report) HiddenStalls() (arms []string) {
	for i, a := range r.Arms {
		if a.Stalls >= manyStalls && i < len(r.Experiment.Arms) && closed(r.Experiment.Arms[i].Setup.Load) {
			arms = append(arms, a.Name)
		}
	}
	return arms
}

func closed(l experiment.Load) bool { return l.Rate == 0 }
