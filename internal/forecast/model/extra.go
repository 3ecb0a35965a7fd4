package model

import (
	"fmt"
	"math"

	"plumb/internal/units"
)

// Extra is what something costs that is done besides, such as a log: rates with
// and without it.
type Extra []Pair

// Pair are the rates of one setting.
type Pair struct{ Without, With float64 }

// extraError is what two pairs are off by: those of one article foretold its other seven within 5.8 %.
const extraError = 0.06

// Predict forecasts the rate with it where the one without is known.
func (x Extra) Predict(without float64) Result {
	for _, p := range x {
		if !(p.Without > 0) || !(p.With > 0) {
			return refused("leave it out, or measure it again", "%g without and %g with it a second are not a measurement", p.Without, p.With)
		}
	}
	if len(x) < 2 || !(without > 0) {
		return refused("measure it with and without at two sizes of the cache, far from each other", "it was measured with and without at %s, and two tell whether it adds time or takes a part", units.Count(len(x), "size"))
	}
	ways := []struct {
		name  string
		cost  func(Pair) float64
		apply func(without, cost float64) float64
	}{
		{"adds the same time to each operation", func(p Pair) float64 { return 1/p.With - 1/p.Without }, func(without, cost float64) float64 { return 1 / (1/without + cost) }},
		{"takes the same part", func(p Pair) float64 { return math.Log(p.With / p.Without) }, func(without, cost float64) float64 { return without * math.Exp(cost) }},
	}
	r := Result{Assumptions: []string{"what it does is as much for each operation at every size", "it waits for nothing that the size changes"}}
	best := 0
	for i, w := range ways {
		var costs, errors []float64
		for _, p := range x {
			costs = append(costs, w.cost(p))
		}
		for k, p := range x {
			others := (mean(costs)*float64(len(costs)) - costs[k]) / float64(len(costs)-1)
			errors = append(errors, math.Log(w.apply(p.Without, others)/p.With))
		}
		r.Rivals = append(r.Rivals, Rival{Name: w.name, Value: w.apply(without, mean(costs)), Error: rms(errors)})
		if r.Rivals[i].Error < r.Rivals[best].Error {
			best = i
		}
	}
	r.Rivals[best].Weight = 1
	r.Model = ways[best].name
	e := within(r.Rivals[best].Value, max(2*r.Rivals[best].Error, atLeast(extraError, len(x))))
	if !(e.Value > 0 && e.Low <= without) {
		return refused("measure both again: something else differed", "with it the load was faster than without, so it is not a cost")
	}
	e.N = len(x)
	r.Values = []Value{{Name: "rate", Unit: PerSecond, Estimate: e, How: fmt.Sprintf("%.4g a second without it", without)}}
	return r
}

func mean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}
