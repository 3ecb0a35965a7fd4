package model

import (
	"math"
	"slices"
)

// way is one way to make a curve of points. The points are by size.
type way struct {
	name  string
	least int // points that it needs
	fit   func([]CachePoint) func(at float64) float64
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
		{wayLogLog, 2, between2(math.Log)},
		{wayLogLinear, 2, between2(func(x float64) float64 { return x })},
	}
	data := c.Data
	if data <= 0 {
		return all
	}
	all = append(all, way{wayChe, 3, func(p []CachePoint) func(float64) float64 { return fitMisses(p, data, powerLaws()) }})
	if len(points) >= 7 {
		all = append(all, way{wayMixture, 6, func(p []CachePoint) func(float64) float64 { return fitMisses(p, data, mixtures()) }})
	}
	return all
}

// between2 interpolates the logarithm of the rate over x of the size.
func between2(x func(float64) float64) func([]CachePoint) func(float64) float64 {
	return func(points []CachePoint) func(float64) float64 {
		return func(at float64) float64 {
			i := 1
			for i < len(points)-1 && at > points[i].Bytes {
				i++
			}
			a, b := points[i-1], points[i]
			w := (x(at) - x(a.Bytes)) / (x(b.Bytes) - x(a.Bytes))
			return math.Exp((1-w)*math.Log(a.Rate) + w*math.Log(b.Rate))
		}
	}
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

// fitMisses gives the curve 1/rate = work + wait * misses of the popularity with
// which it fits best: an operation is some work, and a wait for each page missed.
func fitMisses(points []CachePoint, data float64, among []Popularity) func(float64) float64 {
	least := math.Inf(1)
	var best func(float64) float64
	misses := make([]float64, len(points))
	for _, p := range among {
		for i, q := range points {
			misses[i] = p.Miss(q.Bytes / data)
		}
		work, wait, ok := timesOf(points, misses)
		if !ok {
			continue
		}
		cost := 0.0
		for i, q := range points {
			r := math.Log(q.Rate * (work + wait*misses[i]))
			cost += r * r
		}
		if cost < least {
			least = cost
			best = func(at float64) float64 { return 1 / (work + wait*p.Miss(at/data)) }
		}
	}
	if best == nil { // more cache, less rate: no curve of misses
		return func(float64) float64 { return math.NaN() }
	}
	return best
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
	err  float64 // root mean square of the logarithms, where it foretold points that were left out
	part float64 // of the forecast
}

// weigh judges each way by what it says of each point but the first and last
// when it is not told of it. Of the two interpolations the better one alone is
// used: they are the same idea.
func weigh(points []CachePoint, ways []way) []weight {
	all := make([]weight, len(ways))
	naive := -1
	for i, w := range ways {
		all[i].err = rms(leftOut(points, w))
		if w.least == 2 && (naive < 0 || all[i].err < all[naive].err) {
			naive = i
		}
	}
	total := 0.0
	for i, w := range ways {
		if math.IsNaN(all[i].err) || w.least == 2 && i != naive || w.least == 6 && !better(all, ways) || w.least == 3 && len(ways) > 3 && better(all, ways) {
			continue
		}
		all[i].part = math.Pow(max(all[i].err, leastError), -evenWeights)
		total += all[i].part
	}
	for i := range all {
		all[i].part /= total
	}
	return all
}

// better tells whether the way of more parameters foretells enough better.
func better(all []weight, ways []way) bool {
	find := func(name string) int { return slices.IndexFunc(ways, func(w way) bool { return w.name == name }) }
	simple, rich := find(wayChe), find(wayMixture)
	return rich >= 0 && simple >= 0 && all[rich].err < 0.8*all[simple].err
}

// leftOut gives the logarithms of foretold by measured rates of the points between.
func leftOut(points []CachePoint, w way) (errors []float64) {
	for i := 1; i < len(points)-1; i++ {
		others := slices.Delete(slices.Clone(points), i, i+1)
		if len(others) < w.least {
			return []float64{math.NaN()}
		}
		errors = append(errors, math.Log(w.fit(others)(points[i].Bytes)/points[i].Rate))
	}
	return errors
}

// jointError is the error of the weighted mean of the ways, left out likewise.
func jointError(points []CachePoint, ways []way, weights []weight) float64 {
	joint := make([]float64, len(points)-2)
	for k, w := range ways {
		if weights[k].part > 0 {
			for i, e := range leftOut(points, w) {
				joint[i] += weights[k].part * e
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
