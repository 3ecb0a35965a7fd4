package model

import (
	"fmt"
	"math"
	"slices"

	"plumb/internal/stats"
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

// Predict forecasts the rate on a volume of another limit: clients wait for the
// volume, which serves its IOPS one after the other, and for everything else,
// which the volume does not change.
func (c LimitCurve) Predict(iops float64) Result {
	points := slices.Clone(c.Points)
	slices.SortFunc(points, func(a, b LimitPoint) int { return int(math.Copysign(1, a.IOPS-b.IOPS)) })
	points = slices.CompactFunc(points, func(a, b LimitPoint) bool { return a.IOPS == b.IOPS })
	if len(points) < 2 || c.Clients < 1 || !(iops > 0) {
		return refused("measure the same load on volumes of two limits, each with the number of clients that it will have", "it was measured on %d volumes, and two tell how much the load asks of one", len(points))
	}
	for _, p := range points {
		if !(p.IOPS > 0) || !(p.Rate > 0) || math.IsInf(p.Rate, 0) {
			return refused("leave it out, or measure it again", "a volume of %g IOPS with %g operations a second is no measurement", p.IOPS, p.Rate)
		}
	}
	low, high := points[0], points[len(points)-1]
	if iops > 4*high.IOPS || iops < low.IOPS/4 {
		return refused(fmt.Sprintf("measure it on a volume of %.0f IOPS", iops), "%.0f IOPS are more than four times beyond what was measured, %.0f to %.0f", iops, low.IOPS, high.IOPS)
	}
	if iops > high.IOPS && !flat(points) {
		return refused(fmt.Sprintf("measure it on a volume of %.0f IOPS, or on one so fast that a faster one brings nothing", iops),
			"%.0f IOPS are more than the fastest volume that was measured, %.0f, and there the load still waited for the volume: what it does without waiting is not known", iops, high.IOPS)
	}
	ios, think := c.fit(points)
	value := c.rate(ios, think, iops)
	half := limitError
	if len(points) > 2 {
		var misfits []float64
		for _, p := range points {
			misfits = append(misfits, math.Log(c.rate(ios, think, p.IOPS)/p.Rate))
		}
		half = max(leastError, 2*rms(misfits))
	}
	e := within(value, half)
	e.N = len(points)
	r := Result{Model: "closed network of a limited volume and the rest", Values: []Value{
		{Name: "rate", Unit: PerSecond, Estimate: e, How: fmt.Sprintf("%.3g I/Os of the volume and %.3g ms of everything else for each operation", ios, 1000*think)},
		{Name: "response", Unit: Seconds, Estimate: stats.Estimate{Value: float64(c.Clients) / e.Value, Low: float64(c.Clients) / e.High, High: float64(c.Clients) / e.Low}},
	}}
	near := points[0]
	for _, p := range points {
		if math.Abs(math.Log(p.IOPS/iops)) < math.Abs(math.Log(near.IOPS/iops)) {
			near = p
		}
	}
	r.Rivals = []Rival{{Name: "closed network", Value: value, Error: math.NaN(), Weight: 1}, {Name: "proportional to the limit", Value: near.Rate * iops / near.IOPS, Error: math.NaN()}}
	r.Assumptions = []string{"the load asks the volume for as many I/Os for each operation, whatever its limit", "the limit is held steadily, and no credits raise it"}
	if c.rate(ios, think, high.IOPS) < 1.1*c.rate(ios, think, low.IOPS) {
		r.Warnings = []string{"the volumes made hardly a difference: the load waits for something else, and what more IOPS would bring is not known from these"}
	}
	return r
}

// flat tells whether the fastest volume brought nothing over the one before.
func flat(points []LimitPoint) bool {
	a, b := points[len(points)-2], points[len(points)-1]
	return b.IOPS >= 1.5*a.IOPS && b.Rate < 1.1*a.Rate
}

// rate is that of the network.
func (c LimitCurve) rate(ios, think, iops float64) float64 {
	w := Network{Think: think, Stations: []Station{{Name: "volume", Demand: ios / iops}}}
	return w.Solve(c.Clients).Rate
}

// fit searches the I/Os and the rest of an operation by the least squares of
// relative errors.
func (c LimitCurve) fit(points []LimitPoint) (ios, think float64) {
	cost := func(ios, think float64) (sum float64) {
		for _, p := range points {
			r := math.Log(c.rate(ios, think, p.IOPS) / p.Rate)
			sum += r * r
		}
		return sum
	}
	most := points[0]
	for _, p := range points {
		if p.IOPS/p.Rate > most.IOPS/most.Rate {
			most = p
		}
	}
	ios, think = most.IOPS/most.Rate, float64(c.Clients)/points[len(points)-1].Rate
	best := math.Inf(1)
	span, center := 3.0, [2]float64{math.Log(ios), math.Log(think)}
	for range 12 { // a grid that closes in
		at := center
		for i := -6; i <= 6; i++ {
			for j := -6; j <= 6; j++ {
				x, y := center[0]+span*float64(i)/6, center[1]+span*float64(j)/6
				if s := cost(math.Exp(x), math.Exp(y)); s < best {
					best, at = s, [2]float64{x, y}
				}
			}
		}
		center, span = at, span/2
	}
	return math.Exp(center[0]), math.Exp(center[1])
}
