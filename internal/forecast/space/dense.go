package space

import (
	"fmt"
	"time"

	"plumb/internal/forecast"
)

// What is not known every day carries a forecast all the same where it is read regularly, as those do who write
// down a size each week.
const (
	mostEvery = 10       // days from one reading to the next, in the mean
	mostGap   = 3 * week // without one
)

// rhythm is how often something was read after the first time.
type rhythm struct{ known, days, gap int } // gap: the most days without a reading

func (r *rhythm) add(gap int) { r.known, r.days, r.gap = r.known+1, r.days+gap, max(r.gap, gap) }

// each is how many days apart readings may be: 1 where most days are known, and 0 where it is not read regularly.
func (r rhythm) each() int {
	switch {
	case 2*r.known >= r.days:
		return 1
	case mostEvery*r.known >= r.days && r.gap <= mostGap:
		return mostEvery
	}
	return 0
}

// dense leaves out what was before a time of which too little is known, and says so. each is how many
// days apart readings are: 1 where most days are known, and 0 where too few are. all is how often it was read at all.
func dense(s forecast.Series) (since forecast.Series, each int, all rhythm, said []string) {
	from := 0
	for i := len(s.Days) - 2; i >= 0; i-- {
		all.add(int(s.Days[i+1].Date.Sub(s.Days[i].Date) / aDay))
		if n := all.each(); n > 0 && all.known >= leastDays {
			from, each = i, n
		}
	}
	since = forecast.Series{Quantity: s.Quantity, Days: s.Days[from:]}
	if each > 1 {
		each = min(each, since.Every())
	}
	if from > 0 {
		said = []string{fmt.Sprintf("nothing before %s counts: too little is known about that time", since.Days[0].Date.Format(time.DateOnly))}
	}
	return since, each, all, said
}
