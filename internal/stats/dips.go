package stats

import (
	"math"
	"slices"
)

// Dips are falls that come back at regular times: checkpoints, flushes, a
// drive's housekeeping.
type Dips struct {
	Period Estimate // from dip to dip, steps
	Depth  Estimate // fall, as a part of the level around
	Share  Estimate // part of the time spent in dips
	Count  int
	First  int     // step at which the first of them began, in its series
	P      float64 // chance that dips at random times look as regular
}

// InSeconds gives their period, length and depth where each step is a second, as far as
// seconds can tell.
func (d Dips) InSeconds() (every, length, depth Estimate) {
	toTheSecond := func(e Estimate) Estimate {
		e.Low, e.High = max(0, min(e.Low, e.Value-0.5)), max(e.High, e.Value+0.5)
		return e
	}
	depth = d.Depth
	depth.Low, depth.High = max(0, depth.Low), min(1, depth.High)
	return toTheSecond(d.Period), toTheSecond(d.Share.Times(d.Period.Value)), depth
}

const (
	around       = 33   // blocks whose median is the level that a dip is a dip from
	deep         = 3.0  // deviations of the noise below the level, for a dip to begin
	leastDepth   = 0.05 // of the level
	most         = 1000 // steps on either side that it is compared with
	leastBetween = 4    // steps from one dip to the next; what is nearer is not told from noise
	leastDips    = 5
	alike        = 0.25 // intervals that near to their median are alike
	byChance     = 0.25 // that part of exponential intervals is alike at most (0.19), and some more for having chosen the median
	sureDips     = 0.01
)

// FindDips looks for dips that come back after equal times in several series of one
// thing, such as trials, each of which alone may be too short to show them. The chance
// P is corrected for so many looks; nil: none beyond what chance would show.
func FindDips(looks int, all ...[]float64) *Dips {
	d, _ := dipsIn(looks, all)
	return d
}

// findDips looks for dips in a series, and gives it without them too.
func findDips(x []float64) (*Dips, []float64) {
	d, runs := dipsIn(1, [][]float64{x})
	if d == nil {
		return nil, x
	}
	level := slices.Clone(x)
	for _, d := range runs[0] {
		for i := d.from; i < d.to; i++ {
			level[i] = d.level
		}
	}
	return d, level
}

// dipsIn looks for dips on several scales of time, so that dips of a second
// and of minutes are found alike.
//
// On each scale a dip is a run of blocks far below the median around. Whether
// they are regular is judged by how many of the intervals between them are
// alike, against the same of dips at random times (exponential intervals): so
// one that is missing or too many spoils nothing, and the period need not be
// exact, as that of a log filling up is not. Noise gives dips too, at random
// times, which are not regular; what counts is thus the chance P alone.
func dipsIn(looks int, all [][]float64) (best *Dips, runs [][]dip) {
	longest := 0
	for _, x := range all {
		longest = max(longest, len(x))
	}
	scales := 0
	for block := 1; longest/block >= around; block *= 4 {
		scales++
		found := make([][]dip, len(all))
		for i, x := range all {
			if len(x)/block >= around {
				found[i] = dipsAt(x, block)
			}
		}
		if d := regular(found); d != nil && (best == nil || d.P < best.P) {
			best, runs = d, found
		}
	}
	if best == nil {
		return nil, nil
	}
	if best.P = min(1, best.P*float64(scales*looks)); best.P > sureDips {
		return nil, nil
	}
	return best, runs
}

// dip is one fall: from is in it, to is not.
type dip struct {
	from, to     int
	level, depth float64 // depth as a part of the level
	clear        float64 // depth by the deviation of the noise
}

// dipsAt finds falls on one scale of time.
func dipsAt(x []float64, block int) (found []dip) {
	y := batches(x, block)
	rest := len(x) % block
	levels := medians(y, around)
	noise := noiseAbove(y, levels)
	inside := false
	for i, v := range y {
		fall := levels[i] - v
		enough := max(deep*noise, leastDepth*levels[i])
		if !inside && !(fall > enough && levels[i] > 0) || inside && fall < enough/2 {
			inside = false
			continue
		}
		at := rest + i*block
		if !inside {
			found = append(found, dip{from: at, level: levels[i]})
		}
		inside = true
		found[len(found)-1].to = at + block
	}
	for i := range found {
		from, to := max(0, found[i].from-block), min(len(x), found[i].to+block)
		if i > 0 {
			from = max(from, found[i-1].to)
		}
		if i+1 < len(found) {
			to = min(to, found[i+1].from)
		}
		found[i].refine(x, from, to, max(1, block/4))
	}
	found = deepest(slices.DeleteFunc(found, func(d dip) bool { return d.to <= d.from }))
	for i := range found {
		found[i].compare(x, found, i)
		found[i].clear = found[i].depth * found[i].level / max(noise, 1e-300)
	}
	return found
}

// irregular gives falls so clear and sudden that they are no noise, at
// whatever times they came. A change of level is none.
func irregular(x []float64, regimes []Regime) []dip {
	return slices.DeleteFunc(dipsAt(x, 1), func(d dip) bool {
		atCut := func(r Regime) bool { return r.From > 0 && d.from < r.From+around && r.From-around < d.to }
		at := max(d.from, 1)
		drop := x[at-1] - x[at]
		if at >= 2 && at+1 < len(x) {
			drop = max(drop, x[at-2]-x[at], x[at-1]-x[at+1]) // when it began within a step
		}
		return d.depth < 0.2 || d.clear < 8 || drop < 0.75*d.depth*d.level || slices.ContainsFunc(regimes, atCut)
	})
}

// compare takes the depth of a dip anew from the median of what lies between
// it and its neighbours: the median of everything around is a little low.
func (d *dip) compare(x []float64, all []dip, i int) {
	from, to := max(0, d.from-most), min(len(x), d.to+most)
	if i > 0 {
		from = max(from, all[i-1].to)
	}
	if i+1 < len(all) {
		to = min(to, all[i+1].from)
	}
	between := slices.Concat(x[from:d.from], x[d.to:to])
	if len(between) == 0 {
		return
	}
	slices.Sort(between)
	level := Quantile(between, 0.5)
	d.depth, d.level = 1-(1-d.depth)*d.level/level, level
}

// deepest drops dips that are far less deep than most: noise, where there are
// real ones.
func deepest(found []dip) []dip {
	var depths []float64
	for _, d := range found {
		depths = append(depths, d.depth)
	}
	if len(depths) == 0 {
		return nil
	}
	slices.Sort(depths)
	least := Quantile(depths, 0.75) / 2
	return slices.DeleteFunc(found, func(d dip) bool { return d.depth < least })
}

// refine measures a dip between two places at a finer scale than it was found
// on: its ends are where the fall is half of the deepest.
func (d *dip) refine(x []float64, from, to, fine int) {
	lowest := math.Inf(1)
	for i := from; i+fine <= to; i += fine {
		m, _ := moments(x[i : i+fine])
		lowest = min(lowest, m)
	}
	half := (d.level + lowest) / 2
	var within []float64
	d.from, d.to = to, from
	for i := from; i+fine <= to; i += fine {
		if m, _ := moments(x[i : i+fine]); m < half {
			within = append(within, m)
			d.from, d.to = min(d.from, i), max(d.to, i+fine)
		}
	}
	if len(within) == 0 {
		return // from > to: it is dropped
	}
	slices.Sort(within)
	d.depth = 1 - Quantile(within, 0.5)/d.level // the ends are partly outside
}

// regular gives the dips of some series as regular ones, whatever the chance of it is;
// nil when there are too few. Between two series nothing is known.
func regular(found [][]dip) *Dips {
	var between []float64
	for _, one := range found {
		for i := 1; i < len(one); i++ {
			between = append(between, float64(one[i].from-one[i-1].to))
		}
	}
	if len(between) < leastDips-1 {
		return nil
	}
	usual := Quantile(slices.Sorted(slices.Values(between)), 0.5)
	var periods, depths, shares []float64
	for _, one := range found {
		for i, d := range one {
			depths = append(depths, d.depth)
			if i == 0 {
				continue
			}
			before := one[i-1]
			if math.Abs(float64(d.from-before.to)-usual) <= alike*usual {
				period := float64(d.from - before.from)
				periods = append(periods, period)
				shares = append(shares, float64(before.to-before.from)/period)
			}
		}
	}
	if usual < leastBetween || len(periods) < leastDips-1 {
		return nil
	}
	return &Dips{
		Period: Independent(periods), Depth: Independent(depths), Share: Independent(shares),
		Count: len(depths), First: slices.Concat(found...)[0].from, P: atLeast(len(periods), len(between), byChance),
	}
}

// atLeast is the chance of k or more successes of n, each with chance p.
func atLeast(k, n int, p float64) (sum float64) {
	lgamma := func(v int) float64 { l, _ := math.Lgamma(float64(v + 1)); return l }
	for i := k; i <= n; i++ {
		sum += math.Exp(lgamma(n) - lgamma(i) - lgamma(n-i) + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(1, sum)
}

// medians gives the median of the values around each, fewer at the ends.
func medians(y []float64, width int) []float64 {
	all := make([]float64, len(y))
	window := make([]float64, 0, width)
	for i := range y {
		from := max(0, min(i-width/2, len(y)-width)) // the whole width at the ends too
		window = append(window[:0], y[from:min(len(y), from+width)]...)
		slices.Sort(window)
		all[i] = Quantile(window, 0.5)
	}
	return all
}

// noiseAbove is the deviation of the values above their level: dips are below
// and do not count.
func noiseAbove(y, levels []float64) float64 {
	var above []float64
	for i, v := range y {
		if v > levels[i] {
			above = append(above, v-levels[i])
		}
	}
	if len(above) == 0 {
		return 0
	}
	slices.Sort(above)
	return 1.4826 * Quantile(above, 0.5)
}
