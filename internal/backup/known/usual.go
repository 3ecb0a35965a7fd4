package known

import (
	"slices"
	"time"
)

// The usual distance is told when there were so many, over so long: backups that somebody makes by hand one after the other have none.
const (
	leastDistances = 4
	leastSpan      = 24 * time.Hour
)

// Usual tells how far apart backups are that ended then, in any order: the second longest of the last distances, so that one
// outage does not count, nor many that were made at once beside those of a timer.
func Usual(ends []time.Time) (distance time.Duration, known bool) {
	ends = slices.SortedFunc(slices.Values(ends), time.Time.Compare)
	ends = slices.CompactFunc(ends, time.Time.Equal)
	ends = ends[max(0, len(ends)-mostEnds):]
	var all []time.Duration
	for i := 1; i < len(ends); i++ {
		all = append(all, ends[i].Sub(ends[i-1]))
	}
	if len(all) < leastDistances || ends[len(ends)-1].Sub(ends[0]) < leastSpan {
		return 0, false
	}
	slices.Sort(all)
	return all[len(all)-2], true
}
