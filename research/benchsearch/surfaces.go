package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"plumb/internal/search"
)

// problem is one made-up server: how fast it is with each setting, as the
// logarithm of a ratio, and where it refuses to work.
type problem struct {
	space []search.Dimension
	value func(u search.Point) float64
	fails func(u search.Point) bool
	best  float64
}

// families draw problems of one kind. They are shaped like databases: effects
// saturate, have a best value within, lie flat, or end at a cliff, and some
// settings do nothing. No two problems of a family are equal.
func families() []family {
	return []family{
		{"innodb", innodb}, {"postgres", postgres}, {"split", split}, {"plateau", plateau},
		{"cliff", cliff}, {"ridge", ridge}, {"many", many}, {"flat", flat},
	}
}

type family struct {
	name string
	draw func(r *rand.Rand) problem
}

// dims gives n dimensions from 0 to 1; those in switches have two values.
func dims(n int, switches ...int) []search.Dimension {
	all := make([]search.Dimension, n)
	for i := range all {
		all[i] = search.Dimension{Name: fmt.Sprint("x", i), Low: 0, High: 1, Start: 0.25}
	}
	for _, i := range switches {
		all[i].Grid = []float64{0, 1}
	}
	return all
}

func never(search.Point) bool { return false }

func between(r *rand.Rand, low, high float64) float64 { return low + (high-low)*r.Float64() }

// saturates rises from 0 to 1, first steeply.
func saturates(u, bend float64) float64 { return (1 - math.Exp(-bend*u)) / (1 - math.Exp(-bend)) }

// step rises from 0 to 1 around a place.
func step(u, at, width float64) float64 { return 1 / (1 + math.Exp(-(u-at)/width)) }

func square(x float64) float64 { return x * x }

// innodb: buffer pool, redo log, I/O capacity, dirty pages, and one that does
// nothing. With a larger pool the redo log matters less; too large a pool is
// killed for want of memory.
func innodb(r *rand.Rand) problem {
	pool, redo, io, dirty := between(r, 0.3, 1), between(r, 0.2, 0.7), between(r, 0.1, 0.5), between(r, 0, 0.15)
	k1, k2, middle, end := between(r, 1.5, 5), between(r, 2, 6), between(r, 0.2, 0.8), between(r, 0.75, 1.1)
	return problem{dims(5), func(u search.Point) float64 {
		return pool*saturates(u[0], k1) + redo*saturates(u[1], k2)*(1-0.4*u[0]) - io*square(u[2]-middle)*(1-0.5*u[1]) + dirty*min(1, u[3]/0.5)
	}, func(u search.Point) bool { return u[0] > end }, 0}
}

// postgres: shared_buffers with a best value within, WAL size and time between
// checkpoints of which the smaller counts, spreading, compression of the WAL
// that pays where checkpoints are frequent, reads ahead that help up to a
// point, and one that does nothing.
func postgres(r *rand.Rand) problem {
	buffers, middle, wal, bend := between(r, 0.3, 1.5), between(r, 0.15, 0.7), between(r, 0.2, 0.7), between(r, 2, 6)
	spreading, packing, costs, ahead, at := between(r, 0.02, 0.2), between(r, 0, 0.3), between(r, 0, 0.15), between(r, 0, 0.2), between(r, 0.2, 0.7)
	return problem{dims(7, 4), func(u search.Point) float64 {
		spacing := min(u[1], u[2]+0.3)
		return -buffers*square(u[0]-middle) + wal*saturates(spacing, bend) - spreading*square(u[3]-0.9) +
			u[4]*(packing*(1-spacing)-costs) + ahead*step(u[5], at, 0.05)
	}, never, 0}
}

// split: memory that two caches share; a third part is what is left for the
// kernel. Too much of both is killed.
func split(r *rand.Rand) problem {
	a, b, c := between(r, 0.3, 0.9), between(r, 0.2, 0.7), between(r, 0.2, 0.8)
	k := between(r, 2, 5)
	return problem{dims(4), func(u search.Point) float64 {
		left := max(0, 1.4-u[0]-u[1]) / 1.4
		return a*saturates(u[0], k) + b*saturates(u[1], k) + c*saturates(left, k)
	}, func(u search.Point) bool { return u[0]+u[1] > 1.45 }, 0}
}

// plateau: nothing happens until two settings are both beyond a place.
func plateau(r *rand.Rand) problem {
	height, slope := between(r, 0.3, 0.8), between(r, 0, 0.1)
	at, to := between(r, 0.3, 0.7), between(r, 0.2, 0.6)
	return problem{dims(4), func(u search.Point) float64 {
		return height*step(u[0], at, 0.04)*step(u[1], to, 0.06) + slope*u[2]
	}, never, 0}
}

// cliff: the more the better, up to where the server does not start.
func cliff(r *rand.Rand) problem {
	a, b, end := between(r, 0.4, 1.2), between(r, 0.1, 0.5), between(r, 0.9, 1.3)
	middle := between(r, 0.2, 0.8)
	return problem{dims(4), func(u search.Point) float64 {
		return a*u[0] + b*saturates(u[1], 3) - 0.2*square(u[2]-middle)
	}, func(u search.Point) bool { return u[0]+0.6*u[1] > end }, 0}
}

// ridge: the best value of one depends on another.
func ridge(r *rand.Rand) problem {
	a, slope, from, b := between(r, 0.8, 2.5), between(r, -0.7, 0.7), between(r, 0.3, 0.7), between(r, 0.1, 0.4)
	return problem{dims(4), func(u search.Point) float64 {
		return -a*square(u[0]-from-slope*(u[1]-0.5)) + b*saturates(u[1], 3) - 0.1*square(u[2]-0.4)
	}, never, 0}
}

// many: nine settings of which about half do something, each its own way, and
// two together.
func many(r *rand.Rand) problem {
	const n = 9
	var weight, place, kind [n]float64
	for i := range n {
		if r.Float64() < 0.55 {
			weight[i] = between(r, 0.05, 0.4)
		}
		place[i], kind[i] = between(r, 0.1, 0.9), r.Float64()
	}
	a, b, both := r.IntN(n), r.IntN(n), between(r, 0, 0.3)
	return problem{dims(n), func(u search.Point) (sum float64) {
		for i := range n {
			switch {
			case kind[i] < 0.4:
				sum += weight[i] * saturates(u[i], 1+5*place[i])
			case kind[i] < 0.7:
				sum -= 2 * weight[i] * square(u[i]-place[i])
			case kind[i] < 0.85:
				sum += weight[i] * step(u[i], place[i], 0.08)
			default:
				sum -= weight[i] * u[i]
			}
		}
		return sum + both*u[a]*u[b]
	}, never, 0}
}

// flat: nothing matters.
func flat(*rand.Rand) problem {
	return problem{dims(5), func(search.Point) float64 { return 0 }, never, 0}
}

// solve finds the best value there is, by many points and then step by step.
func (p *problem) solve(r *rand.Rand) {
	at := search.Point(nil)
	p.best = math.Inf(-1)
	try := func(u search.Point) {
		if v := p.value(u); v > p.best && !p.fails(u) {
			p.best, at = v, append(search.Point(nil), u...)
		}
	}
	for range 4000 {
		u := make(search.Point, len(p.space))
		for i, d := range p.space {
			u[i] = d.At(r.Float64())
		}
		try(u)
	}
	for width := 0.2; width > 0.0005; width *= 0.8 {
		for range 40 {
			u := append(search.Point(nil), at...)
			for i, d := range p.space {
				if r.Float64() < 0.5 {
					u[i] = d.At(d.Part(u[i]) + width*r.NormFloat64())
				}
			}
			try(u)
		}
	}
}
