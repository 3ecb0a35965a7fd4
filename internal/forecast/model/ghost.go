package model

import (
	"fmt"
	"math"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// Ghosts are what a cache remembers of blocks that it dropped: reads of them would
// have been hits if it were larger by as much. Counts are of one span of time.
type Ghosts struct {
	Cache  float64 // bytes of the cache
	Kept   float64 // bytes of the blocks that are remembered; 0: not known, and taken as the cache's
	Hits   float64 // reads of remembered blocks
	Misses float64 // all misses, those among them
	Reads  float64 // all reads
	Of     string  // what the cache is, for people
}

// leastMisses is how many misses tell a slope.
const leastMisses = 1000

// Predict forecasts the misses of a cache of some bytes: between now and what the
// ghosts reach, in a straight line.
func (g Ghosts) Predict(bytes float64) Result {
	kept := g.Kept
	if kept <= 0 {
		kept = g.Cache
	}
	switch {
	case !(g.Cache > 0):
		return refused("read a host with OpenZFS, or give a trace", "%s: its size is not known", g.Of)
	case g.Misses < leastMisses || g.Reads < g.Misses || g.Hits > g.Misses:
		return refused("record the host under its load (plumb watch record), for an hour at its peak", "%s: %.0f misses of %.0f reads show no slope", g.Of, g.Misses, g.Reads)
	case bytes < g.Cache:
		return refused("give a trace of its reads", "%s: ghost lists say something only about a larger cache, and %s is less than its %s", g.Of, units.Size(bytes), units.Size(g.Cache))
	case bytes > g.Cache+kept:
		return refused(fmt.Sprintf("give it %s, and look again", units.Size(g.Cache+kept)), "%s: its ghosts reach to %s, and %s is beyond", g.Of, units.Size(g.Cache+kept), units.Size(bytes))
	}
	now := g.Misses / g.Reads
	all := g.Hits / g.Reads
	part := (bytes - g.Cache) / kept
	// Which of the ghosts are hit is not told. If it is the nearest ones alone, a little more memory brings all of it, and if
	// the farthest, nothing before it reaches them; a straight line is between.
	e := stats.Estimate{Value: now - all*part, Low: now - all, High: now}
	switch part {
	case 0:
		e = stats.Exactly(now)
	case 1:
		e = stats.Exactly(now - all)
	}
	r := Result{Model: "ghost hits", Values: []Value{{Name: "misses", Unit: Part, Estimate: e,
		How: fmt.Sprintf("%.2f %% of the reads miss now; ghosts of %s would have saved %.0f %% of them", 100*now, units.Size(kept), 100*g.Hits/g.Misses)}}}
	r.Assumptions = []string{"the load continues as it was", "the slope holds as far as the ghosts reach, and no further",
		"little is prefetched: hits of ghosts by prefetching count as well, and its misses do not"}
	if g.Kept <= 0 {
		r.Assumptions = append(r.Assumptions, "the ghosts reach over as many bytes as the cache has, which was not read")
	}
	r.Rivals = []Rival{{Name: "ghost hits", Value: e.Value, Error: math.NaN(), Weight: 1}, {Name: "no change", Value: now, Error: math.NaN()}}
	return r
}
