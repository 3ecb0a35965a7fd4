package model

import "math"

// Bucket is a limit with credits: what is not used below Base is saved up to
// Size, and spent above it, up to Burst.
type Bucket struct {
	Base, Burst float64 // a second
	Size        float64 // most credits, and those of a new volume
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

// Over gives what comes through second by second, beginning with a full bucket,
// and when it was first empty: -1 if never.
func (b Bucket) Over(load []float64) (through []float64, empty int) {
	credits := b.Size
	empty = -1
	for i, want := range load {
		got := min(want, b.Burst, b.Base+credits)
		credits = min(b.Size, credits+b.Base-got)
		if got < min(want, b.Burst) && empty < 0 {
			empty = i
		}
		through = append(through, got)
	}
	return through, empty
}
