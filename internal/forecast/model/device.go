package model

import (
	"fmt"
	"math"
	"slices"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// Device is a curve of rates by requests under way.
type Device struct{ Points []stats.Point }

// leastDevice is how many concurrencies tell a device's two parameters.
const leastDevice = 2

// Predict forecasts the rate of a number of requests under way. From four
// concurrencies on, package stats chooses between curves; two give the curve of
// a device of channels that are hit at random, which has two parameters.
func (d Device) Predict(n int) Result {
	points := slices.Clone(d.Points)
	slices.SortFunc(points, func(a, b stats.Point) int { return a.Threads - b.Threads })
	points = slices.CompactFunc(points, func(a, b stats.Point) bool { return a.Threads == b.Threads })
	for _, p := range points {
		if p.Threads < 1 || !(p.Rate > 0) || math.IsInf(p.Rate, 0) {
			return refused("leave it out, or measure it again", "%s with %g operations a second: that is no measurement", units.Count(p.Threads, "thread"), p.Rate)
		}
	}
	if n < 1 {
		return refused("ask for one thread or more", "%d threads ask for nothing", n)
	}
	if len(points) < leastDevice {
		return refused("measure the same load at 1 thread and at 4, better at 1, 4, 16 and 64", "it was measured at %s of threads, but a curve needs %d", units.Count(len(points), "different number"), leastDevice)
	}
	capacity, err := stats.FitCapacity(points)
	if err != nil {
		return occupancy(points, n)
	}
	return chosen(capacity, points, n)
}

// chosen is the forecast of the curve that package stats took.
func chosen(c *stats.Capacity, points []stats.Point, n int) Result {
	most := points[len(points)-1].Threads
	if c.Model == stats.UniversalScalability && n > most {
		return refused(fmt.Sprintf("measure it at %d threads", n),
			"the curve that fits, of software with contention, is valid only where it was measured: up to %d threads", most)
	}
	e := c.Predict(n)
	e.Low, e.High = min(e.Low, e.Value/(1+c.Cross)), max(e.High, e.Value*(1+c.Cross))
	r := deviceResult(points, n, c.Model, e)
	r.Warnings = c.Doubts
	r.Rivals[0].Error = c.Cross
	return r
}

// deviceError is what two points are taken to be off by, when nothing tells.
const deviceError = 0.03

// occupancy solves for the channels that explain the first and the last point.
func occupancy(points []stats.Point, n int) Result {
	if r := unlikeDevice(points); r != nil {
		return *r
	}
	a, b := points[0], points[len(points)-1]
	value, m := channelsOf(a, b, n)
	if math.IsInf(m, 1) && n > b.Threads {
		return refused(fmt.Sprintf("measure it at %d threads or more", min(n, 4*b.Threads)),
			"from %d to %d threads the rate rose as much as the threads did, so its limit is not known", a.Threads, b.Threads)
	}
	e := stats.Exactly(value)
	e.N = len(points)
	for _, off := range [][2]float64{{1, -1}, {-1, 1}} {
		p, q := a, b
		p.Rate *= 1 + off[0]*max(a.Error, deviceError)/2
		q.Rate *= 1 + off[1]*max(b.Error, deviceError)/2
		v, _ := channelsOf(p, q, n)
		e.Low, e.High = min(e.Low, v), max(e.High, v)
	}
	for _, p := range points { // what the curve of the first and the last does not explain
		v, _ := channelsOf(a, b, p.Threads)
		off := 2 * math.Abs(math.Log(v/p.Rate))
		e.Low, e.High = min(e.Low, value*math.Exp(-off)), max(e.High, value*math.Exp(off))
	}
	r := deviceResult(points, n, stats.RandomOccupancy, e)
	r.Warnings = []string{"too few to choose between curves: " + units.Count(len(points), "number") + " of threads"}
	return r
}

// unlikeDevice refuses what no device of channels does, and too few points for another curve; nil where it may be one.
func unlikeDevice(points []stats.Point) *Result {
	for i, p := range points[1:] {
		before := points[i]
		chance, rise, threads := leastRise+p.Error+before.Error, p.Rate/before.Rate, float64(p.Threads)/float64(before.Threads)
		what := ""
		switch {
		case rise < 1-chance:
			what = "fell"
		case rise > threads*(1+chance):
			what = "rose more than the threads did"
		default:
			continue
		}
		r := refused("measure both again, or, if it is so, at 1, 4, 16 and 64 threads: other curves need more points", "from %d to %d threads the rate %s: %s a second, and then %s",
			before.Threads, p.Threads, what, units.PerSecond(before.Rate), units.PerSecond(p.Rate))
		return &r
	}
	return nil
}

// channelsOf gives the rate of n requests on the device that does a and b, and
// its channels: infinite when b is no less than proportional.
func channelsOf(a, b stats.Point, n int) (rate, m float64) {
	rise := b.Rate / a.Rate
	shape := func(m float64) float64 { return occupied(float64(b.Threads), m) / occupied(float64(a.Threads), m) }
	low, high := 1.0, 1e6
	if shape(high) <= rise {
		return a.Rate / float64(a.Threads) * float64(n), math.Inf(1)
	}
	for range 100 {
		middle := math.Sqrt(low * high)
		if shape(middle) < rise {
			low = middle
		} else {
			high = middle
		}
	}
	return a.Rate / occupied(float64(a.Threads), low) * occupied(float64(n), low), low
}

func deviceResult(points []stats.Point, n int, model string, e stats.Estimate) Result {
	first := points[0]
	proportional := first.Rate / float64(first.Threads) * float64(n)
	return Result{
		Model: model,
		Values: []Value{
			{Name: "rate", Unit: PerSecond, Estimate: e},
			response(n, e, "requests in flight divided by their rate (Little's law)"),
		},
		Assumptions: []string{"the same kind and size of requests", "nobody else uses the device", "no limit of a control group or a cloud volume applies beyond what was measured"},
		Rivals: []Rival{
			{Name: model, Value: e.Value, Error: math.NaN(), Weight: 1},
			{Name: "proportional to the threads", Value: proportional, Error: math.NaN()},
		},
	}
}
