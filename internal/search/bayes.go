package search

import (
	"cmp"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
)

// Bayes fits a [surface] through what was tried, and tries where it promises
// most: where the mean is high, or where little is known (expected improvement;
// J. Mockus, 1975). Each round holds the point that looks best by now, so that
// it is measured again and a lucky trial does not lead astray.
type Bayes struct {
	Space []Dimension
	Total int // trials that are planned in all
}

// few is how many trials come before the first surface: the start, and a
// hypercube.
func (b Bayes) few() int { return max(4, min(len(b.Space)+3, b.Total/3)) }

// Ask implements [Method].
func (b Bayes) Ask(tried []Outcome, n int, seed uint64) (all []Point) {
	cube := cube(b.Space, b.few(), seed)
	for i := len(tried); len(all) < n && i < b.few(); i++ {
		if p := next(b.Space, cube, i, seed); !holds(all, p) {
			all = append(all, p)
		}
	}
	if len(all) == n {
		return all
	}
	f, ok := b.surface(tried)
	if !ok {
		return fill(b.Space, all, n, seed+uint64(len(tried)))
	}
	r := rand.New(rand.NewPCG(seed, uint64(len(tried))+100))
	c := b.candidates(tried, f, r)
	for len(all) < n && len(c.points) > 0 {
		i := c.choose(len(all) == 0)
		p := c.points[i]
		c.believe(i)
		c.remove(i)
		if !holds(all, p) {
			all = append(all, p)
		}
	}
	return fill(b.Space, all, n, seed+uint64(len(tried)))
}

// Top implements [Method]: by the mean of the surface, in which a single
// trial that was lucky counts for less.
func (b Bayes) Top(tried []Outcome, n int) []Point {
	f, ok := b.surface(tried)
	if !ok {
		return byMean(b.Space, tried, n)
	}
	return b.top(tried, n, f)
}

// top orders the points that gave values by a surface.
func (b Bayes) top(tried []Outcome, n int, f *surface) []Point {
	type seen struct {
		at   Point
		mean float64
	}
	var all []seen
	for _, p := range byMean(b.Space, tried, len(tried)) {
		mean, _ := f.predict(parts(b.Space, p))
		all = append(all, seen{p, mean})
	}
	slices.SortStableFunc(all, func(a, b seen) int { return cmp.Compare(b.mean, a.mean) })
	var out []Point
	for _, s := range all[:min(n, len(all))] {
		out = append(out, s.at)
	}
	return out
}

// surface fits the trials that gave values; false when they are too few.
func (b Bayes) surface(tried []Outcome) (*surface, bool) {
	s := sampleOf(b.Space, tried)
	if len(s.y) < 3 || len(b.Space) == 0 {
		return nil, false
	}
	return fitted(s, len(b.Space))
}

func sampleOf(space []Dimension, tried []Outcome) (s sample) {
	for _, o := range tried {
		if usable(space, o) {
			s.x, s.y, s.block = append(s.x, parts(space, o.Point)), append(s.y, o.Value), append(s.block, o.Block)
		}
	}
	return s
}

// candidates are points that may be tried, with what is known of them.
type candidates struct {
	surface *surface
	points  []Point
	at      [][]float64
	mean    []float64
	half    [][]float64 // L⁻¹ of the covariances with the trials, and with what was chosen since
	known   []float64   // the square of that: how much of the variance is gone
	works   []float64   // chance that a server can be used so
	best    float64     // highest mean of a point that was tried
}

// candidates gathers points: some of everywhere, some near the best, and these
// with one value changed.
func (b Bayes) candidates(tried []Outcome, f *surface, r *rand.Rand) *candidates {
	c := &candidates{surface: f, best: math.Inf(-1)}
	top := b.top(tried, 4, f)
	for _, p := range top {
		mean, _ := f.predict(parts(b.Space, p))
		c.best = max(c.best, mean)
	}
	points := slices.Clone(top)
	points = append(points, cube(b.Space, 160, r.Uint64())...)
	for _, p := range top[:min(2, len(top))] {
		points = append(points, b.near(p, r)...)
	}
	breaks, fails := breaking(b.Space, tried)
	seen := map[string]bool{}
	for _, p := range points {
		if key := keyOf(p); !seen[key] && !failed(tried, p) {
			seen[key] = true
			c.add(p, parts(b.Space, p), breaks, fails)
		}
	}
	return c
}

// near gives points that differ from one in a single value, and some that
// differ a little in several.
func (b Bayes) near(p Point, r *rand.Rand) (all []Point) {
	for i, d := range b.Space {
		for _, v := range d.Values(6) {
			q := slices.Clone(p)
			q[i] = v
			all = append(all, q)
		}
	}
	for range 40 {
		u := parts(b.Space, p)
		for i := range u {
			if r.Float64() < 0.5 {
				u[i] += 0.15 * r.NormFloat64()
			}
		}
		all = append(all, at(b.Space, u))
	}
	return all
}

func keyOf(p Point) string {
	key := make([]byte, 0, 8*len(p))
	for _, v := range p {
		key = binary.LittleEndian.AppendUint64(key, math.Float64bits(v))
	}
	return string(key)
}

// blurred is how wide the edge is taken to be at which servers begin to break,
// when 0 is where all run and 1 where none does.
const blurred = 0.15

func (c *candidates) add(p Point, u []float64, breaks *surface, fails bool) {
	k := c.surface.toward(u)
	half := c.surface.factor.forward(k)
	works := 1.0
	if fails {
		risk, unsure := breaks.predict(u)
		works = math.Erfc((risk-0.5)/math.Hypot(unsure, blurred)/math.Sqrt2) / 2
	}
	c.points, c.at, c.half, c.works = append(c.points, p), append(c.at, u), append(c.half, half), append(c.works, works)
	c.mean, c.known = append(c.mean, dot(k, c.surface.weights)), append(c.known, dot(half, half))
}

// choose gives the candidate that promises most; surely asks for the one that
// looks best, whatever could be learned elsewhere.
func (c *candidates) choose(surely bool) (best int) {
	score := math.Inf(-1)
	for i := range c.points {
		s := c.promise(i)
		if surely {
			s = c.mean[i] + math.Log(max(1e-6, c.works[i]*c.works[i]))
		}
		if s > score {
			best, score = i, s
		}
	}
	return best
}

// promise is the improvement on the best that is expected of a candidate, if
// a server works so.
func (c *candidates) promise(i int) float64 {
	deviation := math.Sqrt(max(1e-12, level+1-c.known[i]) * c.surface.variance)
	z := (c.mean[i] - c.best) / deviation
	density := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	below := math.Erfc(-z/math.Sqrt2) / 2
	return c.works[i] * c.works[i] * deviation * (z*below + density)
}

// believe takes a chosen candidate for measured, with the value it has by now:
// what is near it then promises less, so that one round looks in several places.
func (c *candidates) believe(chosen int) {
	h := c.surface.shape
	own := level + 1 + 2*h.noise - c.known[chosen]
	if own <= 0 {
		return
	}
	root, row := math.Sqrt(own), c.half[chosen]
	for i := range c.points {
		if i == chosen {
			continue
		}
		v := (h.likeness(c.at[i], c.at[chosen]) - dot(row, c.half[i])) / root
		c.half[i] = append(c.half[i], v)
		c.known[i] += v * v
	}
}

func (c *candidates) remove(i int) {
	c.points, c.at, c.half = slices.Delete(c.points, i, i+1), slices.Delete(c.at, i, i+1), slices.Delete(c.half, i, i+1)
	c.mean, c.known, c.works = slices.Delete(c.mean, i, i+1), slices.Delete(c.known, i, i+1), slices.Delete(c.works, i, i+1)
}

// breaking is a surface of where servers broke: 0 where they ran, 1 where not.
// It is false when none broke.
func breaking(space []Dimension, tried []Outcome) (*surface, bool) {
	var s sample
	some := false
	for i, o := range tried {
		if len(o.Point) != len(space) || !o.Failed && !usable(space, o) {
			continue
		}
		value := 0.0
		if o.Failed {
			value, some = 1, true
		}
		s.x, s.y, s.block = append(s.x, parts(space, o.Point)), append(s.y, value), append(s.block, -i-1)
	}
	if !some {
		return nil, false
	}
	h := shape{length: make([]float64, len(space)), sum: 0.4, noise: 0.01}
	for d := range h.length {
		h.length[d] = 0.5
	}
	f, ok := surfaceOf(s, h, s.likenesses(h.length))
	return f, ok
}
