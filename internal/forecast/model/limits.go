package model

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"plumb/internal/units"
)

// LimitPoint is what a server did on a volume of a limit.
type LimitPoint struct {
	IOPS  float64 // the volume's limit
	Rate  float64 // operations a second of the server
	Error float64 // half of the 95 % interval of Rate, as a part of it
}

// LimitCurve is one load on volumes that differ by their limit alone.
type LimitCurve struct {
	Points  []LimitPoint
	Clients int
}

// limitError is what two points are off by: our own volumes, two of which were to
// foretell the third, were within it.
const limitError = 0.15

// atLeast is what n points are taken to be off by where those that were left out were foretold better: one of them
// can be by chance. two is what two points are off by.
func atLeast(two float64, n int) float64 { return max(leastError, two/math.Sqrt(float64(n-1))) }

// Predict forecasts the rate on a volume of another limit: clients wait for the
// volume, which serves its IOPS one after the other, and for everything else,
// which the volume does not change.
func (c LimitCurve) Predict(iops float64) Result {
	points := slices.Clone(c.Points)
	slices.SortFunc(points, func(a, b LimitPoint) int { return cmp.Compare(a.IOPS, b.IOPS) })
	points = slices.CompactFunc(points, func(a, b LimitPoint) bool { return a.IOPS == b.IOPS })
	if len(points) < 2 || !(iops > 0) {
		return refused("measure the same load on volumes of two limits, each with the number of clients that it will have", "it was measured on %s, and two tell how much the load asks of one", units.Count(len(points), "volume"))
	}
	if c.Clients < 1 {
		return refused("give it: --clients 16", "the number of concurrent clients is not known, and the queue at the volume depends on it")
	}
	for _, p := range points {
		if !(p.IOPS > 0) || !(p.Rate > 0) || math.IsInf(p.Rate, 0) {
			return refused("leave it out, or measure it again", "a volume of %g IOPS with %g operations a second is not a measurement", p.IOPS, p.Rate)
		}
	}
	for i, p := range points[1:] {
		if slow := points[i]; p.Rate < slow.Rate*(1-leastRise-p.Error-slow.Error) {
			return refused("measure both again: something else differed", "the faster volume did less: %s a second with %s IOPS, and %s with %s",
				units.PerSecond(p.Rate), units.PerSecond(p.IOPS), units.PerSecond(slow.Rate), units.PerSecond(slow.IOPS))
		}
	}
	low, high := points[0], points[len(points)-1]
	if iops > 4*high.IOPS || iops < low.IOPS/4 {
		return refused(fmt.Sprintf("measure it on a volume of %s IOPS", units.PerSecond(iops)), "%s IOPS are more than four times beyond what was measured, %s to %s",
			units.PerSecond(iops), units.PerSecond(low.IOPS), units.PerSecond(high.IOPS))
	}
	if iops > high.IOPS && !flat(points) {
		return refused(fmt.Sprintf("measure it on a volume of %s IOPS, or on one so fast that a faster one makes no difference", units.PerSecond(iops)),
			"%s IOPS are more than the fastest volume that was measured, %s, and there the load still waited for the volume: the rate without waiting is not known",
			units.PerSecond(iops), units.PerSecond(high.IOPS))
	}
	return c.answer(points, iops)
}

// answer takes the way that foretold best what was left out; of two points, the network.
func (c LimitCurve) answer(points []LimitPoint, iops float64) Result {
	ios, think := c.fit(points)
	ways := []struct {
		name string
		of   func(points []LimitPoint, at float64) float64
	}{
		{"closed network", func(p []LimitPoint, at float64) float64 { i, z := c.fit(p); return c.rate(i, z, at) }},
		{"between neighbours, logarithms of both", betweenLimits},
		{"proportional to the limit", func(p []LimitPoint, at float64) float64 { n := nearest(p, at); return n.Rate * at / n.IOPS }},
	}
	r := Result{Model: "closed network of a limited volume and the rest", Assumptions: []string{
		"the load asks the volume for as many I/Os for each operation, whatever its limit",
		"the limit is held steadily, and no credits raise it",
	}}
	best := 0
	for i, w := range ways {
		var errors []float64
		for k := 1; k < len(points)-1; k++ {
			others := slices.Delete(slices.Clone(points), k, k+1)
			errors = append(errors, math.Log(w.of(others, points[k].IOPS)/points[k].Rate))
		}
		r.Rivals = append(r.Rivals, Rival{Name: w.name, Value: w.of(points, iops), Error: rms(errors)})
		if r.Rivals[i].Error < r.Rivals[best].Error {
			best = i
		}
	}
	r.Rivals[best].Weight = 1
	half := atLeast(limitError, len(points))
	if off := r.Rivals[best].Error; !math.IsNaN(off) {
		half = max(half, 2*off)
	}
	e := within(r.Rivals[best].Value, max(half, unsure(sizesOf(points), iops)))
	e.N = len(points)
	r.Values = []Value{
		{Name: "rate", Unit: PerSecond, Estimate: e, How: c.made(points, ios, think)},
		response(c.Clients, e, "clients divided by their rate (Little's law)"),
	}
	if low, high := points[0], points[len(points)-1]; high.Rate < 1.1*low.Rate {
		r.Warnings = []string{"the volumes made hardly any difference: the load waits for something else, so they do not show what more IOPS would gain"}
	}
	return r
}

// made says of what an operation is made. Where the clients wait for the volume alone, what else there is cannot be seen.
func (c LimitCurve) made(points []LimitPoint, ios, think float64) string {
	rest := units.Time(1e6 * think)
	if !slices.ContainsFunc(points, func(p LimitPoint) bool { return c.rate(ios, 0, p.IOPS) > 1.01*c.rate(ios, think, p.IOPS) }) {
		rest = "too little to be seen"
	}
	return fmt.Sprintf("%.3g I/Os of the volume and %s of everything else for each operation", ios, rest)
}

func nearest(points []LimitPoint, at float64) LimitPoint {
	near := points[0]
	for _, p := range points {
		if math.Abs(math.Log(p.IOPS/at)) < math.Abs(math.Log(near.IOPS/at)) {
			near = p
		}
	}
	return near
}

func betweenLimits(points []LimitPoint, at float64) float64 {
	return neighbours(math.Log)(sizesOf(points))(at)
}

// sizesOf are the points as those of a cache, for what is done alike with both.
func sizesOf(points []LimitPoint) (all []CachePoint) {
	for _, p := range points {
		all = append(all, CachePoint{Bytes: p.IOPS, Rate: p.Rate, Error: p.Error})
	}
	return all
}

// flat tells whether the fastest volume brought nothing over the one before.
func flat(points []LimitPoint) bool {
	a, b := points[len(points)-2], points[len(points)-1]
	return b.IOPS >= 1.5*a.IOPS && b.Rate < 1.1*a.Rate
}

// rate is that of the network.
func (c LimitCurve) rate(ios, think, iops float64) float64 {
	w := Network{Think: think, Stations: []Station{{Demand: ios / iops}}}
	return w.Rate(c.Clients)
}

// fit searches the I/Os and the rest of an operation by the least squares of
// relative errors: for each number of I/Os, the rest that goes best with it.
func (c LimitCurve) fit(points []LimitPoint) (ios, think float64) {
	most := 0.0
	for _, p := range points {
		most = max(most, p.IOPS/p.Rate)
	}
	longest := math.Log(float64(c.Clients) / points[0].Rate)
	cost := func(ios, think float64) (sum float64) {
		for _, p := range points {
			r := math.Log(c.rate(ios, think, p.IOPS) / p.Rate)
			sum += r * r
		}
		return sum
	}
	rest := func(ios float64) float64 {
		return math.Exp(lowest(longest-14, longest+1, func(x float64) float64 { return cost(ios, math.Exp(x)) }))
	}
	x := lowest(math.Log(most)-4, math.Log(most)+0.3, func(x float64) float64 { i := math.Exp(x); return cost(i, rest(i)) })
	return math.Exp(x), rest(math.Exp(x))
}

// lowest finds where a function is lowest, that falls and then rises: by a grid,
// and then by the golden section about its lowest point.
func lowest(from, to float64, f func(float64) float64) float64 {
	const steps, rounds = 24, 40
	best, least := from, math.Inf(1)
	step := (to - from) / steps
	for i := range steps + 1 {
		if v := f(from + step*float64(i)); v < least {
			best, least = from+step*float64(i), v
		}
	}
	low, high := best-step, best+step
	golden := (math.Sqrt(5) - 1) / 2
	for range rounds {
		a, b := high-golden*(high-low), low+golden*(high-low)
		if f(a) < f(b) {
			high = b
		} else {
			low = a
		}
	}
	return (low + high) / 2
}
