package search

import (
	"math"
	"math/rand/v2"
	"slices"

	"plumb/internal/stats"
)

// What a curve shows of its dimension.
const (
	Matters    = "matters"
	NoMatter   = "makes no difference" // larger than the margin, anywhere in the range
	NotDecided = "not decided"
)

// Curve is the response to one dimension: what its values bring on average over
// what the others were set to in the trials.
type Curve struct {
	Dimension int
	Values    []float64
	Response  []stats.Estimate // of each value: ratio to the reference less one, 95 % interval
	Spread    stats.Estimate   // the best of these values against the worst: ratio less one
	Best      int              // of Values
	Word      string           // Matters, NoMatter, NotDecided
}

const (
	curveValues = 9   // points of a curve
	background  = 40  // settings of the other dimensions it is averaged over
	futures     = 500 // curves that are drawn to judge it
	sure        = 0.95
	wide        = 2.3 // deviations to each side of a 95 % interval: the surface's shape is not known either, and with 1.96 one in ten misses, as research/benchsearch shows
)

// Curves gives the response to each dimension, from a surface through all
// trials. margin is the difference, as a part, below which a dimension makes
// none. It gives nothing when too few trials have values.
//
// The intervals hold if the surface is of the right kind: they are a model's,
// not those of repeated measurement.
func Curves(space []Dimension, tried []Outcome, margin float64, seed uint64) (all []Curve) {
	f, ok := Bayes{Space: space}.surface(tried)
	if !ok {
		return nil
	}
	others := f.sample.x
	if len(others) > background {
		others = slices.Clone(others)
		r := rand.New(rand.NewPCG(seed, 4))
		r.Shuffle(len(others), func(i, j int) { others[i], others[j] = others[j], others[i] })
		others = others[:background]
	}
	for d := range space {
		all = append(all, f.curve(space, d, others, margin, seed+uint64(d)))
	}
	return all
}

func (f *surface) curve(space []Dimension, d int, others [][]float64, margin float64, seed uint64) Curve {
	c := Curve{Dimension: d, Values: space[d].Values(curveValues)}
	mean, joint := f.along(space[d], d, c.Values, others)
	for i, m := range mean {
		half := wide * math.Sqrt(joint[i][i])
		c.Response = append(c.Response, stats.Estimate{Value: math.Expm1(m), Low: math.Expm1(m - half), High: math.Expm1(m + half), N: len(f.sample.y)})
		if m > mean[c.Best] {
			c.Best = i
		}
	}
	c.Spread, c.Word = spread(mean, joint, math.Log1p(margin), seed)
	c.Spread.N = len(f.sample.y)
	return c
}

// along gives the means of the surface at the values of one dimension, averaged
// over the others, and how sure they are together.
func (f *surface) along(dim Dimension, d int, values []float64, others [][]float64) (mean []float64, joint triangle) {
	rows := make([][][]float64, len(values)) // by value: the points averaged over
	halves := make([][]float64, len(values))
	for g, v := range values {
		toward := make([]float64, len(f.sample.x))
		for _, o := range others {
			x := slices.Clone(o)
			x[d] = dim.Part(v)
			rows[g] = append(rows[g], x)
			for i, k := range f.toward(x) {
				toward[i] += k / float64(len(others))
			}
		}
		mean = append(mean, dot(toward, f.weights))
		halves[g] = f.factor.forward(toward)
	}
	joint = newTriangle(len(values))
	for g := range values {
		for h := range g + 1 {
			sum := 0.0
			for _, a := range rows[g] {
				for _, b := range rows[h] {
					sum += f.shape.likeness(a, b)
				}
			}
			joint[g][h] = f.variance * (sum/float64(len(others)*len(others)) - dot(halves[g], halves[h]))
		}
		joint[g][g] = max(joint[g][g], 0)
	}
	return mean, joint
}

// spread judges how far apart the best and the worst of a curve are: from
// below by their difference, which chance must not explain, and from above by
// curves that could be as well.
func spread(mean []float64, joint triangle, margin float64, seed uint64) (e stats.Estimate, word string) {
	best, worst := 0, 0
	for i, m := range mean {
		if m > mean[best] {
			best = i
		}
		if m < mean[worst] {
			worst = i
		}
	}
	between := joint[max(best, worst)][min(best, worst)]
	apart, half := mean[best]-mean[worst], wide*math.Sqrt(max(0, joint[best][best]+joint[worst][worst]-2*between))
	e = stats.Estimate{Value: math.Expm1(apart), Low: math.Expm1(max(0, apart-half)), High: math.Inf(1)}
	all := spreads(mean, joint, seed)
	if all != nil {
		e.High = math.Expm1(max(apart, all[futures-1-futures/40]))
	}
	switch {
	case apart-half > margin/2:
		return e, Matters
	case all != nil && all[int(sure*futures)] <= margin:
		return e, NoMatter
	}
	return e, NotDecided
}

// spreads gives how far apart the ends are of curves that could be as well,
// rising; nil when it cannot be computed.
func spreads(mean []float64, joint triangle, seed uint64) []float64 {
	factor := newTriangle(len(joint))
	for i, row := range joint {
		copy(factor[i], row)
		factor[i][i] = row[i]*(1+1e-6) + 1e-10
	}
	if !factor.factor() {
		return nil
	}
	r := rand.New(rand.NewPCG(seed, 5))
	all, normal, curve := make([]float64, futures), make([]float64, len(mean)), make([]float64, len(mean))
	for n := range all {
		for i := range normal {
			normal[i] = wide / 1.96 * r.NormFloat64()
		}
		for i, row := range factor {
			curve[i] = mean[i] + dot(row, normal)
		}
		all[n] = slices.Max(curve) - slices.Min(curve)
	}
	slices.Sort(all)
	return all
}

// Expected is what a surface through all trials expects of a point that was
// among them, as a ratio to the reference less one. It is less than the best of
// what was measured, because the best of many trials was also lucky; how good
// the point is only a fresh measurement tells. It is false when too few trials
// have values.
func Expected(space []Dimension, tried []Outcome, p Point) (e stats.Estimate, known bool) {
	f, ok := Bayes{Space: space}.surface(tried)
	if !ok || len(p) != len(space) {
		return e, false
	}
	mean, deviation := f.predict(parts(space, p))
	half := wide * deviation
	return stats.Estimate{Value: math.Expm1(mean), Low: math.Expm1(mean - half), High: math.Expm1(mean + half), N: len(f.sample.y)}, true
}
