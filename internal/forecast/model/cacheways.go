package model

import (
	"math"
	"slices"
	"sync"
)

// way is one way to make a curve of points. The points are by size.
type way struct {
	name string
	fit  func([]CachePoint) func(at float64) float64
}

// Names of the ways.
const (
	wayChe       = "misses by Che, power law"
	wayMixture   = "misses by Che, power law, even and recent reads"
	wayLogLog    = "between neighbours, logarithms of both"
	wayLogLinear = "between neighbours, logarithm of the rate"
)

// ways lists those that can be tried. Without the size of the data the model
// has nothing to hold a cache against.
func (c CacheCurve) ways(points []CachePoint) []way {
	all := []way{
		{wayLogLog, neighbours(math.Log)},
		{wayLogLinear, neighbours(func(x float64) float64 { return x })},
	}
	data := c.Data
	if data <= 0 {
		return all
	}
	all = append(all, way{wayChe, fitMisses(data, ofPowerLaws())})
	if len(points) >= 7 {
		all = append(all, way{wayMixture, fitMisses(data, ofMixtures())})
	}
	return all
}

// neighbours interpolates the logarithm of the rate over x of the size.
func neighbours(x func(float64) float64) func([]CachePoint) func(float64) float64 {
	return func(points []CachePoint) func(float64) float64 {
		return func(at float64) float64 {
			a, b := beside(points, at)
			w := (x(at) - x(a.Bytes)) / (x(b.Bytes) - x(a.Bytes))
			return math.Exp((1-w)*math.Log(a.Rate) + w*math.Log(b.Rate))
		}
	}
}

// beside gives the points that a size lies between, or the two that are nearest.
func beside(points []CachePoint, at float64) (a, b CachePoint) {
	i := 1
	for i < len(points)-1 && at > points[i].Bytes {
		i++
	}
	return points[i-1], points[i]
}

// unsure is half of the 95 % interval that a forecast has from what was measured beside it alone.
func unsure(points []CachePoint, at float64) float64 {
	a, b := beside(points, at)
	return max(a.Error, b.Error)
}

// powerLaws are the popularities of the first family, from almost all reads on
// a few pages to even ones.
func powerLaws() (all []Popularity) {
	for skew := 0.01; skew < 1.25; skew *= 1.25 {
		all = append(all, Popularity{Skew: min(1, skew)})
	}
	return all
}

func mixtures() (all []Popularity) {
	for _, p := range powerLaws() {
		for _, even := range []float64{0, 0.1, 0.3, 0.6} {
			all = append(all, Popularity{Skew: p.Skew, Even: even})
			for _, recent := range []float64{0.1, 0.3, 0.6} {
				for _, window := range []float64{0.02, 0.1, 0.4} {
					if even+recent < 1 {
						all = append(all, Popularity{Skew: p.Skew, Even: even, Recent: recent, Window: window})
					}
				}
			}
		}
	}
	return all
}

// The misses of the families, which never change, are computed once.
var (
	ofPowerLaws = sync.OnceValue(func() []misses { return curvesOf(powerLaws()) })
	ofMixtures  = sync.OnceValue(func() []misses { return curvesOf(mixtures()) })
)

// curvesOf computes the misses of popularities once for all fits.
func curvesOf(among []Popularity) (all []misses) {
	for _, p := range among {
		all = append(all, p.misses())
	}
	return all
}

// fitMisses gives the curve 1/rate = work + wait * misses of the popularity with
// which it fits best: an operation is some work, and a wait for each page missed.
func fitMisses(data float64, among []misses) func([]CachePoint) func(float64) float64 {
	return func(points []CachePoint) func(float64) float64 {
		least := math.Inf(1)
		best := func(float64) float64 { return math.NaN() } // more cache, less rate: no curve of misses
		missed := make([]float64, len(points))
		for _, m := range among {
			for i, q := range points {
				missed[i] = m.at(q.Bytes / data)
			}
			work, wait, ok := timesOf(points, missed)
			if !ok {
				continue
			}
			cost := 0.0
			for i, q := range points {
				r := math.Log(q.Rate * (work + wait*missed[i]))
				cost += r * r
			}
			if cost < least {
				least = cost
				best = func(at float64) float64 { return 1 / (work + wait*m.at(at/data)) }
			}
		}
		return best
	}
}

// timesOf finds work and wait by least squares of the relative errors.
func timesOf(points []CachePoint, misses []float64) (work, wait float64, ok bool) {
	var w, wm, wmm, wy, wmy float64
	for i, p := range points {
		weight, m, y := p.Rate*p.Rate, misses[i], 1/p.Rate
		w, wm, wmm, wy, wmy = w+weight, wm+weight*m, wmm+weight*m*m, wy+weight*y, wmy+weight*m*y
	}
	d := w*wmm - wm*wm
	if d <= 1e-12*w*wmm {
		return 0, 0, false
	}
	wait = (w*wmy - wm*wy) / d
	work = (wy - wait*wm) / w
	return work, wait, work > 0 && wait > 0
}

// weight is what a way is worth.
type weight struct {
	errors []float64 // logarithms of foretold by measured, of the points that were left out
	err    float64   // their root mean square
	part   float64   // of the forecast
}

// weigh judges each way by what it says of each point but the first and last
// when it is not told of it. Of the two interpolations the better one alone is
// used, and of the two models: they are the same idea.
func weigh(points []CachePoint, ways []way) []weight {
	all := make([]weight, len(ways))
	at := map[string]*weight{}
	for i, w := range ways {
		all[i].errors = leftOut(points, w)
		all[i].err = rms(all[i].errors)
		at[w.name] = &all[i]
	}
	use := []*weight{at[wayLogLog]}
	if at[wayLogLinear].err < at[wayLogLog].err {
		use[0] = at[wayLogLinear]
	}
	model := at[wayChe]
	if rich := at[wayMixture]; rich != nil && (math.IsNaN(model.err) || rich.err < simpler*model.err) {
		model = rich
	}
	if model != nil && !math.IsNaN(model.err) {
		use = append(use, model)
	}
	total := 0.0
	for _, w := range use {
		w.part = math.Pow(max(w.err, leastError), -2)
		total += w.part
	}
	for _, w := range use {
		w.part /= total
	}
	return all
}

// leftOut gives the logarithms of foretold by measured rates of the points between.
func leftOut(points []CachePoint, w way) (errors []float64) {
	for i := 1; i < len(points)-1; i++ {
		others := slices.Delete(slices.Clone(points), i, i+1)
		errors = append(errors, math.Log(w.fit(others)(points[i].Bytes)/points[i].Rate))
	}
	return errors
}

// jointError is the error of the weighted mean of the ways, left out likewise.
func jointError(weights []weight) float64 {
	joint := make([]float64, len(weights[0].errors))
	for _, w := range weights {
		if w.part > 0 {
			for i, e := range w.errors {
				joint[i] += w.part * e
			}
		}
	}
	return rms(joint)
}

func rms(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v * v
	}
	return math.Sqrt(sum / float64(len(x)))
}
