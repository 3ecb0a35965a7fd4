package stats

import (
	"cmp"
	"math"
	"slices"
)

// Exhaustion is one lasting step down after a high plateau: a burst of
// credits, or a drive's cache of fast flash, that was used up.
type Exhaustion struct {
	At     Estimate // steps after the start
	Before Estimate
	After  Estimate
	Spent  Estimate // (Before - After) * At, in units of the values times steps
}

const (
	leastFall  = 0.15 // of the plateau
	leastAfter = 0.10 // of the series
	ofAllFalls = 0.70 // the step must make up that much of the range of levels: a slow decline does not
)

// findExhaustion looks for a step after which the level never comes back.
func findExhaustion(x []float64, regimes []Regime) *Exhaustion {
	for i := 1; i < len(regimes); i++ {
		before, after := regimes[:i], regimes[i:]
		byLevel := func(a, b Regime) int { return cmp.Compare(a.Level.Value, b.Level.Value) }
		low, high := slices.MinFunc(before, byLevel).Level.Value, slices.MaxFunc(after, byLevel).Level.Value
		top, bottom := slices.MaxFunc(before, byLevel).Level.Value, slices.MinFunc(after, byLevel).Level.Value
		at := regimes[i].From
		if !(low-high > leastFall*low) || low-high < ofAllFalls*(top-bottom) || float64(len(x)-at) < leastAfter*float64(len(x)) {
			continue
		}
		return exhausted(x, at)
	}
	return nil
}

// exhausted measures the step at a place. The interval of the place is that
// of J. Bai ("Estimation of a change point in multiple regression models",
// 1997): 11 times the long-run variance by the square of the step.
func exhausted(x []float64, at int) *Exhaustion {
	e := &Exhaustion{Before: Mean(x[:at]), After: Mean(x[at:])}
	fall := e.Before.Value - e.After.Value
	first, _ := noiseWithin(x[:at], nil)
	second, _ := noiseWithin(x[at:], nil)
	long := max(first, second)
	off := min(11*long/(fall*fall)+1, float64(len(x)))
	e.At = Estimate{Value: float64(at), Low: max(0, float64(at)-off), High: min(float64(len(x)), float64(at)+off), N: e.Before.N + e.After.N}
	half := func(v Estimate) float64 { return (v.High - v.Low) / 2 }
	part := math.Hypot(half(e.Before), half(e.After)) / fall
	part = math.Hypot(part, off/float64(at))
	spent := fall * float64(at)
	e.Spent = Estimate{Value: spent, Low: spent * (1 - part), High: spent * (1 + part), N: e.At.N}
	return e
}
