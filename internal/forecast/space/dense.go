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

// dense leaves out what was before a time of which too little is known, and says so. each is how many
// days apart readings are: 1 where most days are known, and 0 where too few are.
func dense(s forecast.Series) (since forecast.Series, each int, said []string) {
	from, gap := 0, 0
	for i := len(s.Days) - 2; i >= 0; i-- {
		since.Days = s.Days[i:]
		gap = max(gap, int(since.Days[1].Date.Sub(since.Days[0].Date)/aDay))
		switch known := len(since.Days) - 1; {
		case known < leastDays:
		case 2*known >= days(since):
			from, each = i, 1
		case mostEvery*known >= days(since) && gap <= mostGap:
			from, each = i, mostEvery
		}
	}
	since = forecast.Series{Quantity: s.Quantity, Days: s.Days[from:]}
	if each > 1 {
		each = min(each, since.Every())
	}
	if from > 0 {
		said = []string{fmt.Sprintf("nothing before %s counts: of the time until then too little is known", since.Days[0].Date.Format(time.DateOnly))}
	}
	return since, each, said
}
