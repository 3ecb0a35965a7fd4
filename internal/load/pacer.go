package load

import (
	"fmt"
	"math"
	"time"

	"plumb/internal/draw"
	"plumb/internal/units"
)

// arrivals is the stream of random numbers that belongs to pacers.
const arrivals = 0x6172726976616c73

// Fixed paces at equal gaps.
func Fixed(rate float64) Pacer { return &ramp{from: rate, to: rate} }

// Ramp paces at equal gaps that shrink or grow, so that the rate goes from
// one value to the other in a straight line over a time, and stays there.
func Ramp(from, to float64, over time.Duration) Pacer { return &ramp{from: from, to: to, over: over} }

type ramp struct {
	from, to float64 // operations a second
	over     time.Duration
	n        int64
}

// Next solves for the time at which the n-th operation is due: the area under
// the rate is n.
func (p *ramp) Next() time.Duration {
	n := float64(p.n)
	p.n++
	over := p.over.Seconds()
	if onRamp := (p.from + p.to) / 2 * over; n >= onRamp {
		return seconds(over + (n-onRamp)/p.to)
	}
	steep := (p.to - p.from) / over
	return seconds(2 * n / (p.from + math.Sqrt(p.from*p.from+2*steep*n)))
}

func (p *ramp) Again() Pacer { return &ramp{from: p.from, to: p.to, over: p.over} }

func (p *ramp) String() string {
	if p.over == 0 {
		return fmt.Sprintf("%g/s, equal gaps", p.to)
	}
	return fmt.Sprintf("from %g/s to %g/s in %s, equal gaps", p.from, p.to, units.Short(p.over))
}

// Poisson paces as independent users arrive: with exponential gaps.
func Poisson(rate float64, seed uint64) Pacer {
	return &poisson{rate: rate, seed: seed, random: draw.Keyed(seed, arrivals, 0)}
}

type poisson struct {
	rate   float64
	seed   uint64
	random draw.Stream
	at     float64 // seconds
}

func (p *poisson) Next() time.Duration {
	p.at += -math.Log1p(-p.random.Float()) / p.rate
	return seconds(p.at)
}

func (p *poisson) Again() Pacer { return Poisson(p.rate, p.seed) }

func (p *poisson) String() string { return fmt.Sprintf("%g/s, Poisson", p.rate) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
