package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// CachePoint is what a server did with a cache of one size.
type CachePoint struct {
	Bytes float64
	Rate  float64 // operations a second
	Error float64 // half of the 95 % interval of Rate, as a part of it; 0: not known
}

// CacheCurve is what was measured of a cache at several sizes.
type CacheCurve struct {
	Points  []CachePoint
	Data    float64 // bytes of all the data that is read; 0: not known
	Ceiling float64 // operations a second when all of it is in the cache; 0: not measured
}

const (
	leastSizes = 4 // three parameters, and one point left to contradict them
	mostGrowth = 2 // times the largest size measured
	leastError = 0.02
	leastRise  = 0.1 // of a rate that is no chance
	simpler    = 0.8 // a model of more parameters must foretell that much better
)

// Predict forecasts the rate with a cache of some bytes.
func (c CacheCurve) Predict(at float64) Result {
	points, refusal := c.check(at)
	if refusal != nil {
		return *refusal
	}
	if c.Data > 0 && at >= c.Data {
		return c.full(points[len(points)-1])
	}
	ways := c.ways(points)
	return c.answer(points, ways, at)
}

// full is the forecast for a cache that holds all the data.
func (c CacheCurve) full(at CachePoint) Result {
	r := Result{Model: "all in memory", Values: []Value{{Name: "rate", Unit: PerSecond, Estimate: within(at.Rate, max(at.Error, leastError)),
		How: "all the data is in the cache, as it was when this was measured"}}}
	r.Assumptions = cacheAssumptions()
	return r
}

// check gives the points by size, the ceiling among them, or why there is no forecast.
func (c CacheCurve) check(at float64) ([]CachePoint, *Result) {
	no := func(measure, format string, args ...any) ([]CachePoint, *Result) {
		r := refused(measure, format, args...)
		return nil, &r
	}
	points := slices.Clone(c.Points)
	for _, p := range points {
		if !(p.Bytes > 0) || !(p.Rate > 0) || math.IsInf(p.Rate, 0) || math.IsInf(p.Bytes, 0) {
			return no("leave it out, or measure it again", "a cache of %s with %g operations a second is not a measurement", units.Size(p.Bytes), p.Rate)
		}
	}
	slices.SortFunc(points, func(a, b CachePoint) int { return cmp.Compare(a.Bytes, b.Bytes) })
	points = slices.CompactFunc(points, func(a, b CachePoint) bool { return a.Bytes == b.Bytes })
	if len(points) < leastSizes {
		return no(fmt.Sprintf("measure the same load with at least %d sizes, the largest near the size of the data", leastSizes),
			"the cache was measured at %s, but a curve needs %d", units.Count(len(points), "different size"), leastSizes)
	}
	for i, p := range points[1:] {
		if before := points[i]; c.Data > 0 && before.Bytes >= c.Data && p.Rate > before.Rate*(1+leastRise+p.Error+before.Error) {
			return no("is --data right? It is the size of all the data that is read", "all of %s fits into a cache of %s, and with %s the rate still rose from %s to %s a second",
				units.Size(c.Data), units.Size(before.Bytes), units.Size(p.Bytes), units.PerSecond(before.Rate), units.PerSecond(p.Rate))
		}
	}
	smallest, largest := points[0], points[len(points)-1]
	if at < smallest.Bytes {
		return no("measure it once with a cache that small", "%s is less than the smallest cache that was measured, %s", units.Size(at), units.Size(smallest.Bytes))
	}
	if at <= largest.Bytes {
		return points, nil
	}
	if c.Data <= 0 || c.Ceiling <= 0 {
		if c.Data > 0 && largest.Bytes >= c.Data {
			return points, nil
		}
		return no("measure the rate without misses once: with a cache as large as the data, or with data that fits. Give both with --data and --ceiling",
			"%s is more than the largest cache that was measured, %s, and the rate without misses is not known", units.Size(at), units.Size(largest.Bytes))
	}
	if c.Ceiling*(1+max(largest.Error, leastError)) < largest.Rate {
		return no("measure both again", "without misses it would be %s a second, and with a cache of %s it was %s", units.PerSecond(c.Ceiling), units.Size(largest.Bytes), units.PerSecond(largest.Rate))
	}
	if at > mostGrowth*largest.Bytes && at < c.Data {
		return no(fmt.Sprintf("measure it with a cache of %s or more", units.Size(at/mostGrowth)), "%s is more than twice the largest cache that was measured, %s", units.Size(at), units.Size(largest.Bytes))
	}
	return append(points, CachePoint{Bytes: c.Data, Rate: c.Ceiling}), nil
}

// answer joins the ways by how well each foretold what was measured.
func (c CacheCurve) answer(points []CachePoint, ways []way, at float64) Result {
	r := Result{Model: "misses by Che, and interpolation", Assumptions: cacheAssumptions()}
	weights := weigh(points, ways)
	var mean, joint float64
	low, high := math.Inf(1), math.Inf(-1)
	for i, w := range ways {
		v := math.Log(w.fit(points)(at))
		r.Rivals = append(r.Rivals, Rival{Name: w.name, Value: math.Exp(v), Error: weights[i].err, Weight: weights[i].part})
		if weights[i].part > 0 {
			mean += weights[i].part * v
			low, high = min(low, v), max(high, v)
		}
	}
	joint = jointError(weights)
	e := stats.Estimate{Value: math.Exp(mean), N: len(points)}
	// What was left out lay between neighbours twice as far apart as those that
	// the forecast lies between, so its error is an upper one.
	half := max(joint, (high-low)/2, leastError, unsure(points, at)/2)
	e.Low, e.High = math.Exp(mean-2*half), math.Exp(mean+2*half)
	r.Values = []Value{{Name: "rate", Unit: PerSecond, Estimate: e,
		How: fmt.Sprintf("from %d sizes; those between the first and the last, when left out, were predicted within %.0f %%", len(points), 100*joint)}}
	for i, p := range points[1:] {
		if before := points[i]; p.Rate < before.Rate*(1-leastRise-p.Error-before.Error) {
			r.Warnings = append(r.Warnings, fmt.Sprintf("with the larger cache it did less: %s a second with %s, and %s with %s: something else differed, or the memory was taken from something that the load needs",
				units.PerSecond(p.Rate), units.Size(p.Bytes), units.PerSecond(before.Rate), units.Size(before.Bytes)))
		}
	}
	if len(points) < 6 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d sizes support a curve, but do not prove it", len(points)))
	}
	return r
}

func cacheAssumptions() []string {
	return []string{
		"the load reads the same data in the same proportions as when it was measured",
		"the data does not grow",
		"the memory for the cache is not taken from something that the load needs, such as the page cache",
	}
}
