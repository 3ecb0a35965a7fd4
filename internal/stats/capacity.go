package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Point is what was measured at one concurrency.
type Point struct {
	Threads  int     // requests under way
	Rate     float64 // operations a second
	Response float64 // mean, seconds; 0: Threads/Rate (Little's law)
	Error    float64 // half of the 95 % interval of Rate, as a part of it; 0: not known
}

// Capacity is a curve fitted to a device's or server's rates by concurrency.
type Capacity struct {
	Model   string // RandomOccupancy, PowerSaturation, UniversalScalability
	Formula string
	Params  []Param  // of the formula
	Max     Estimate // operations a second that it tends to, or peaks at
	Base    Estimate // response time alone, seconds
	Best    Best
	Fit     float64  // root mean square of the relative errors
	Cross   float64  // the same where each concurrency was predicted from the others
	Doubts  []string // reasons not to rely on it, for people

	curve  curve
	others []curve // as it might have come out, by the errors of the points
}

// Param is a parameter of a formula. Times are in seconds.
type Param struct {
	Name string
	Estimate
}

// errFewPoints says that a curve cannot be fitted to what was measured.
var errFewPoints = errors.New("too few concurrencies measured")

const (
	leastPoints = 4   // two parameters, and two points left to contradict them
	leastReach  = 4   // highest by lowest concurrency
	replicates  = 400 // of the bootstrap
	simpler     = 0.8 // a model of more parameters must predict that much better
	floorError  = 0.005
)

// FitCapacity fits a curve to the points of one kind of operation, and
// chooses between models by how well each predicts a concurrency from the
// others. It wants four concurrencies over a range of four; models of three
// parameters are tried from five on.
//
// Intervals come from fitting again to rates that were moved about by the
// points' own errors or by the curve's, whichever is larger.
func FitCapacity(points []Point) (*Capacity, error) {
	levels, err := checkPoints(points)
	if err != nil {
		return nil, err
	}
	c := choose(points, levels)
	c.others = c.curve.resample(points, replicates)
	c.estimate()
	c.Best = c.curve.best(levels[len(levels)-1])
	c.doubt(points, levels)
	return c, nil
}

// choose fits every model there are points enough for, and takes the one that
// predicts best.
func choose(points []Point, levels []int) *Capacity {
	c := &Capacity{Cross: math.Inf(1)}
	for _, m := range models() {
		if len(levels) < len(m.params)+2 {
			continue
		}
		fitted := m.fit(points, nil)
		cross := m.cross(points, levels)
		needed := c.Cross
		if c.Model != "" && len(m.params) > len(c.curve.model.params) {
			needed *= simpler
		}
		if cross < needed {
			c.Model, c.Fit, c.Cross, c.curve = m.name, fitted.rms(points), cross, fitted
		}
	}
	c.Formula = c.curve.model.formula
	return c
}

// checkPoints gives the different concurrencies, rising.
func checkPoints(points []Point) (levels []int, err error) {
	for _, p := range points {
		if p.Threads < 1 || !(p.Rate > 0) || math.IsInf(p.Rate, 0) {
			return nil, fmt.Errorf("%s with %g operations a second: no point of a capacity curve", count(p.Threads, "thread"), p.Rate)
		}
		levels = append(levels, p.Threads)
	}
	slices.Sort(levels)
	levels = slices.Compact(levels)
	if len(levels) < leastPoints {
		return nil, fmt.Errorf("%w: %d, and a curve needs %d", errFewPoints, len(levels), leastPoints)
	}
	if low, high := levels[0], levels[len(levels)-1]; high < leastReach*low {
		return nil, fmt.Errorf("%w: they reach from %d to %d only, and a curve needs a range of %d", errFewPoints, low, high, leastReach)
	}
	return levels, nil
}

// Predict gives the rate at a concurrency.
func (c *Capacity) Predict(threads int) Estimate {
	return c.spread(func(k curve) float64 { return k.rate(float64(threads)) })
}

// spread estimates what can be computed from a curve.
func (c *Capacity) spread(of func(curve) float64) Estimate {
	e := Estimate{Value: of(c.curve), N: len(c.curve.params) + c.curve.free}
	all := make([]float64, len(c.others))
	for i, k := range c.others {
		all[i] = of(k)
	}
	slices.Sort(all)
	e.Low, e.High = Quantile(all, 0.025), Quantile(all, 0.975)
	e.Low, e.High = min(e.Low, e.Value), max(e.High, e.Value)
	return e
}

// Quantile of sorted values, of which there is at least one: between them by a
// straight line.
func Quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

func (c *Capacity) estimate() {
	c.Max = c.spread(curve.max)
	c.Base = c.spread(curve.base)
	for i := range c.curve.params {
		e := c.spread(func(k curve) float64 { return k.params[i] })
		c.Params = append(c.Params, Param{c.curve.model.params[i], e})
	}
}

func (c *Capacity) doubt(points []Point, levels []int) {
	add := func(format string, args ...any) { c.Doubts = append(c.Doubts, fmt.Sprintf(format, args...)) }
	most := slices.MaxFunc(points, func(a, b Point) int { return cmp.Compare(a.Rate, b.Rate) })
	switch reached := most.Rate / c.Max.Value; {
	case reached < 0.2:
		add("requests hardly waited for one another, so the maximum is not known: measure at more threads")
	case reached < 0.6:
		add("at most %.0f %% of the maximum was reached, so the maximum is a forecast", 100*reached)
	}
	if c.Max.High > 1.5*c.Max.Low {
		add("the maximum is known only roughly")
	}
	if c.Fit > 0.05 {
		add("no curve fits: the best is off by %.0f %%", 100*c.Fit)
	}
	if len(levels) == leastPoints {
		add("%d concurrencies are just enough for one model, and for no choice between models", leastPoints)
	}
	if c.Model == UniversalScalability {
		add("this model does not hold beyond the %d threads that were measured", levels[len(levels)-1])
	}
	for _, p := range points {
		if p.Response > 0 && math.Abs(p.Response*p.Rate/float64(p.Threads)-1) > 0.1 {
			add("at %s %.1f requests were under way by Little's law: the threads did something else too", count(p.Threads, "thread"), p.Response*p.Rate)
			break
		}
	}
}
