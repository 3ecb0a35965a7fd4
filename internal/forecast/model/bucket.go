package model

import (
	"math"
	"time"
)

// Bucket is a limit with credits: what is not used below Base is saved up to
// Size, and spent above it, up to Burst.
type Bucket struct {
	Base, Burst float64 // a second
	Size        float64 // most credits, and those of a new volume
}

// Spell is a load that is known for some time: its mean over that time.
type Spell struct {
	PerSecond float64
	For       time.Duration
}

// Lasts is how many seconds a full bucket carries a load: the credits it uses
// are the integral of what it takes above Base. Infinite where it never ends.
func (b Bucket) Lasts(load float64) float64 {
	used := min(load, b.Burst) - b.Base
	if used <= 0 {
		return math.Inf(1)
	}
	return b.Size / used
}

// Spent is what a load does to a bucket that is full at its beginning.
type Spent struct {
	Through []float64     // what comes through of each spell
	Least   float64       // credits that are left when there are fewest
	Empty   time.Duration // how much of the load had passed when there were none for the first time; -1: there always are some
}

// Over goes through a load.
func (b Bucket) Over(load []Spell) Spent {
	credits, passed := b.Size, time.Duration(0)
	s := Spent{Least: b.Size, Empty: -1}
	for _, l := range load {
		seconds, got := l.For.Seconds(), min(l.PerSecond, b.Burst)
		credits += (b.Base - got) * seconds
		if credits < 0 {
			lacking := -credits / (got - b.Base) // seconds of the spell in which there are none
			if s.Empty < 0 {
				s.Empty = passed + l.For - time.Duration(lacking*float64(time.Second))
			}
			got -= (got - b.Base) * lacking / seconds
			credits = 0
		}
		credits = min(b.Size, credits)
		s.Least = min(s.Least, credits)
		passed += l.For
		s.Through = append(s.Through, got)
	}
	return s
}
