// Package search chooses numbers by trial within a budget: what to try next,
// given what was tried, and what all trials together show of each number.
//
// It is pure. It knows no setting and no server: a point is a list of numbers,
// and how good it is comes from outside, measured, with noise. What it must
// not try is kept out by the bounds of its dimensions.
package search

import (
	"math"
	"slices"
)

// Dimension is one number that is to be chosen.
type Dimension struct {
	Name  string    // of the setting
	Low   float64   // both ends belong to the range
	High  float64   //
	Log   bool      // equal ratios count the same, in place of equal differences; Low is above zero then
	Grid  []float64 // the only values there are, rising; nil: all between Low and High
	Step  float64   // values are multiples of it; 0: any
	Start float64   // a value to begin with, such as the one that rules advise; NaN when there is none
}

// Point is one value for each dimension, in their order.
type Point []float64

// Outcome is what one trial of a point gave.
type Outcome struct {
	Point  Point
	Block  int     // trials of one block were compared with the same trial of the reference, so that they share its noise
	Value  float64 // natural logarithm of the ratio to the reference; more is better. NaN when the trial gave none
	Failed bool    // the point cannot be used: a server refused it, or broke. With a NaN that is not failed, chance spoilt the trial
}

// Method decides what to try. It is a pure function of what it is given.
type Method interface {
	// Ask gives n points to try next, none of them twice.
	Ask(tried []Outcome, n int, seed uint64) []Point
	// Top gives the most promising of the points that were tried and did not
	// fail, best first, at most n.
	Top(tried []Outcome, n int) []Point
}

// At gives the value at a part of the range, from 0 to 1, that can be set.
func (d Dimension) At(part float64) float64 {
	part = min(1, max(0, part))
	if n := len(d.Grid); n > 0 {
		return d.Grid[min(int(part*float64(n)), n-1)]
	}
	v := d.Low + part*(d.High-d.Low)
	if d.Log {
		v = d.Low * math.Pow(d.High/d.Low, part)
	}
	return d.snap(v)
}

// snap gives the nearest multiple of the step within the range.
func (d Dimension) snap(v float64) float64 {
	if d.Step <= 0 {
		return min(d.High, max(d.Low, v))
	}
	n := math.Round(v / d.Step)
	if n*d.Step > d.High {
		n = math.Floor(d.High / d.Step)
	}
	if n*d.Step < d.Low {
		n = math.Ceil(d.Low / d.Step)
	}
	return n * d.Step
}

// Part is where in the range a value lies, from 0 to 1. Values beyond it
// count as its ends.
func (d Dimension) Part(v float64) float64 {
	if n := len(d.Grid); n > 0 {
		nearest := 0
		for i, g := range d.Grid {
			if math.Abs(g-v) < math.Abs(d.Grid[nearest]-v) {
				nearest = i
			}
		}
		return (float64(nearest) + 0.5) / float64(n)
	}
	v = min(d.High, max(d.Low, v))
	if d.High <= d.Low {
		return 0
	}
	if d.Log {
		return math.Log(v/d.Low) / math.Log(d.High/d.Low)
	}
	return (v - d.Low) / (d.High - d.Low)
}

// Values gives at most n different values, spread evenly over the range, its
// ends included.
func (d Dimension) Values(n int) (all []float64) {
	if len(d.Grid) > 0 && len(d.Grid) <= n {
		return append(all, d.Grid...)
	}
	for i := range n {
		v := d.At(float64(i) / float64(max(1, n-1)))
		if len(all) == 0 || v != all[len(all)-1] {
			all = append(all, v)
		}
	}
	return all
}

// at gives the point at parts of the ranges.
func at(space []Dimension, parts []float64) Point {
	p := make(Point, len(space))
	for i, d := range space {
		p[i] = d.At(parts[i])
	}
	return p
}

// parts is the inverse of at.
func parts(space []Dimension, p Point) []float64 {
	u := make([]float64, len(space))
	for i, d := range space {
		u[i] = d.Part(p[i])
	}
	return u
}

func holds(all []Point, p Point) bool {
	return slices.ContainsFunc(all, func(q Point) bool { return slices.Equal(p, q) })
}

// start is the point to begin with; false when no dimension has one. The
// others begin in the middle.
func start(space []Dimension) (Point, bool) {
	p, some := make(Point, len(space)), false
	for i, d := range space {
		if math.IsNaN(d.Start) {
			p[i] = d.At(0.5)
			continue
		}
		p[i], some = d.At(d.Part(d.Start)), true
	}
	return p, some
}

// usable tells whether an outcome has a value for a point of a space.
func usable(space []Dimension, o Outcome) bool {
	return !o.Failed && len(o.Point) == len(space) && !math.IsNaN(o.Value) && !math.IsInf(o.Value, 0)
}
