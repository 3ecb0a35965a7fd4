package model

import (
	"fmt"
	"math"
)

// Extra is what something costs that is done besides, such as a log: rates with
// and without it at a few sizes, and without it where it is asked about.
type Extra struct {
	Without, With []CachePoint // at the same sizes
}

// Predict forecasts the rate with it where without is the rate without it.
func (x Extra) Predict(without float64) Result {
	var added, ratios []float64
	for _, p := range x.Without {
		for _, q := range x.With {
			if p.Bytes == q.Bytes && p.Rate > 0 && q.Rate > 0 {
				added, ratios = append(added, 1/q.Rate-1/p.Rate), append(ratios, math.Log(q.Rate/p.Rate))
			}
		}
	}
	if len(added) < 2 || !(without > 0) {
		return refused("measure it with and without at two sizes, far from each other", "it was measured with and without at %d sizes, and two tell whether it adds time or takes a part", len(added))
	}
	seconds, part := mean(added), math.Exp(mean(ratios))
	plus := func(s float64) float64 { return 1 / (1/without + s) }
	rivals := []Rival{
		{Name: "adds the same time to each operation", Value: plus(seconds), Error: extraError(x, added, plusTime)},
		{Name: "takes the same part", Value: without * part, Error: extraError(x, ratios, timesPart)},
	}
	best := 0
	if rivals[1].Error < rivals[0].Error {
		best = 1
	}
	rivals[best].Weight = 1
	e := within(rivals[best].Value, max(2*rivals[best].Error, leastError))
	e.N = len(added)
	return Result{Model: rivals[best].Name, Rivals: rivals,
		Values:      []Value{{Name: "rate", Unit: PerSecond, Estimate: e, How: fmt.Sprintf("%.3g ms for each operation", 1000*seconds)}},
		Assumptions: []string{"what it does is as much for each operation at every size", "it waits for nothing that the size changes"}}
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func plusTime(without, cost float64) float64  { return 1 / (1/without + cost) }
func timesPart(without, cost float64) float64 { return without * math.Exp(cost) }

// extraError is how well the costs of the other sizes foretell each.
func extraError(x Extra, costs []float64, apply func(without, cost float64) float64) float64 {
	var errors []float64
	k := 0
	for _, p := range x.Without {
		for _, q := range x.With {
			if p.Bytes != q.Bytes || !(p.Rate > 0) || !(q.Rate > 0) {
				continue
			}
			others := (mean(costs)*float64(len(costs)) - costs[k]) / float64(len(costs)-1)
			errors = append(errors, math.Log(apply(p.Rate, others)/q.Rate))
			k++
		}
	}
	return rms(errors)
}
