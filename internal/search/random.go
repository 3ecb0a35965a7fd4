package search

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// Random tries points of a Latin hypercube: each value is drawn at random, but
// so that the trials are spread evenly over the range of every dimension. It is
// what a cleverer method has to beat.
type Random struct {
	Space []Dimension
	Total int // trials that are planned in all
	Again int // of them, how many go to what looked best, in the end
}

// Ask implements [Method]. The first point is the one to begin with.
func (r Random) Ask(tried []Outcome, n int, seed uint64) (all []Point) {
	again := r.Top(tried, max(2, r.Again/2)) // each of them twice, about
	cube := cube(r.Space, max(r.Total-r.Again, 1), seed)
	for i := len(tried); len(all) < n && i < len(tried)+n; i++ {
		p := next(r.Space, cube, i, seed)
		if first := r.Total - r.Again; i >= first && i < r.Total && len(again) > 0 {
			p = again[(i-first)%len(again)]
		}
		if !holds(all, p) {
			all = append(all, p)
		}
	}
	return fill(r.Space, all, n, seed+uint64(len(tried)))
}

// Top implements [Method]: by the mean of what was measured.
func (r Random) Top(tried []Outcome, n int) []Point { return byMean(r.Space, tried, n) }

// next gives point i of a plan: the start, those of the cube, and then others.
func next(space []Dimension, cube []Point, i int, seed uint64) Point {
	if p, some := start(space); some {
		if i == 0 {
			return p
		}
		i--
	}
	if i < len(cube) {
		return cube[i]
	}
	return drawn(space, rand.New(rand.NewPCG(seed, uint64(i)+1000)))
}

// fill adds points at random until there are n, or as many as the space has.
func fill(space []Dimension, all []Point, n int, seed uint64) []Point {
	r := rand.New(rand.NewPCG(seed, 2))
	for tries := 0; len(all) < n && tries < 50*n; tries++ {
		if p := drawn(space, r); !holds(all, p) {
			all = append(all, p)
		}
	}
	return all
}

func drawn(space []Dimension, r *rand.Rand) Point {
	u := make([]float64, len(space))
	for i := range u {
		u[i] = r.Float64()
	}
	return at(space, u)
}

// cube gives n points of a Latin hypercube: of the n equal parts of each
// dimension's range every one holds one point (M. D. McKay, R. J. Beckman and
// W. J. Conover, 1979).
func cube(space []Dimension, n int, seed uint64) []Point {
	r := rand.New(rand.NewPCG(seed, 1))
	u := make([][]float64, n)
	for i := range u {
		u[i] = make([]float64, len(space))
	}
	for d := range space {
		for i, cell := range r.Perm(n) {
			u[i][d] = (float64(cell) + r.Float64()) / float64(n)
		}
	}
	all := make([]Point, n)
	for i := range all {
		all[i] = at(space, u[i])
	}
	return all
}

// byMean orders the points that gave values by their mean.
func byMean(space []Dimension, tried []Outcome, n int) []Point {
	type mean struct {
		at  Point
		sum float64
		n   int
	}
	var all []mean
	for _, o := range tried {
		if !usable(space, o) || failed(tried, o.Point) {
			continue
		}
		i := slices.IndexFunc(all, func(m mean) bool { return slices.Equal(m.at, o.Point) })
		if i < 0 {
			all, i = append(all, mean{at: o.Point}), len(all)
		}
		all[i].sum += o.Value
		all[i].n++
	}
	slices.SortStableFunc(all, func(a, b mean) int { return cmp.Compare(b.sum/float64(b.n), a.sum/float64(a.n)) })
	var out []Point
	for _, m := range all[:min(n, len(all))] {
		out = append(out, m.at)
	}
	return out
}

// failed tells whether a point ever failed: one that breaks now and then is
// not chosen.
func failed(tried []Outcome, p Point) bool {
	return slices.ContainsFunc(tried, func(o Outcome) bool { return o.Failed && slices.Equal(o.Point, p) })
}
