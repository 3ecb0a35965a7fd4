package report

import (
	"plumb/internal/lab/experiment"
	"plumb/internal/stats"
)

// Dips are falls of an arm's rate that come back after equal times: a checkpoint, a
// flush, a volume's limit, a drive's housekeeping.
type Dips struct {
	Every  stats.Estimate // seconds from one to the next
	Length stats.Estimate // seconds
	Depth  stats.Estimate // as a part of the rate between them
	N      int            // how many there were, in all trials
	P      float64        // that falls at random times look as regular, corrected for the number of arms
}

// dips looks for some in the seconds of an arm's trials; nil: none beyond what chance
// would show, or too few seconds to tell. Where arms take turns within a trial, its
// seconds do not follow one another.
func (t *table) dips(trials []*experiment.Record) *Dips {
	if t.x.Together() {
		return nil
	}
	var all [][]float64
	for _, r := range trials {
		all = append(all, experiment.Rates(r.Series))
	}
	d := stats.FindDips(len(t.x.Arms), all...)
	if d == nil {
		return nil
	}
	every, length, depth := d.InSeconds()
	return &Dips{Every: every, Length: length, Depth: depth, N: d.Count, P: d.P}
}
