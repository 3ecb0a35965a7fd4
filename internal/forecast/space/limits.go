package space

import (
	"fmt"

	"plumb/internal/forecast"
	"plumb/internal/units"
)

const (
	leastDays = 14   // of history, for any forecast
	mostAhead = 3    // times the history
	MostDays  = 1100 // ahead, whatever is known: what happens in more than three years is nobody's past
)

// refuse says what of the past cannot carry the forecast; nil: it can.
func refuse(s forecast.Series, each int, read rhythm, ask Ask, change *Change) *forecast.Refusal {
	if len(s.Days) == 0 && change == nil {
		return &forecast.Refusal{Why: "there are no recordings of it", Measure: fmt.Sprintf("plumb watch record records it; a forecast needs %d days", leastDays)}
	}
	span := 0
	if len(s.Days) > 0 {
		span = days(s)
	}
	switch {
	case change != nil && span < leastDays:
		return &forecast.Refusal{Why: fmt.Sprintf("%s on %s, and what was before that does not count", change.What, change.At.Format("2006-01-02")),
			Measure: fmt.Sprintf("keep recording: in %s there are the %d days since then that it needs", units.Count(leastDays-span, "day"), leastDays)}
	case span < leastDays:
		known := "less than a day"
		if span > 0 {
			known = units.Count(span, "day")
		}
		return &forecast.Refusal{Why: fmt.Sprintf("it is known for %s, but a forecast needs %d: a single week may have been unusual", known, leastDays),
			Measure: fmt.Sprintf("record for %s more", units.Count(leastDays-span, "day"))}
	case each == 0 && read.each() > 0:
		return &forecast.Refusal{Why: fmt.Sprintf("it was read %s in %s after the first time, but a forecast needs %d readings", units.Count(len(s.Days)-1, "time"), units.Count(span, "day"), leastDays),
			Measure: fmt.Sprintf("record it %s more as before, or every day", units.Count(leastDays-len(s.Days)+1, "time"))}
	case each == 0:
		return &forecast.Refusal{Why: fmt.Sprintf("it is known on only %d of %s; %s", len(s.Days)-1, units.Count(span, "day"), longestGap(s)),
			Measure: fmt.Sprintf("record it every day, or regularly: after the first day, %d must be known, on average one every %d days, and none more than %d days after the one before", leastDays, mostEvery, mostGap)}
	case ask.Days < each:
		return &forecast.Refusal{Why: fmt.Sprintf("%s ahead is less than the %d from one reading to the next, and what happens between them is not known", units.Count(ask.Days, "day"), each),
			Measure: fmt.Sprintf("ask for %d days or more, or record it each day", each)}
	case ask.Days > mostAhead*span:
		return &forecast.Refusal{Why: fmt.Sprintf("%s ahead is more than %d times the %s known", units.Count(ask.Days, "day"), mostAhead, units.Counted(span, "day", "that is", "that are")),
			Measure: fmt.Sprintf("ask for %s or less, or record until there are %d", units.Count(mostAhead*span, "day"), (ask.Days+mostAhead-1)/mostAhead)}
	}
	return nil
}

// longestGap says between which days least is known: one that is decades off has a wrong date.
func longestGap(s forecast.Series) string {
	from, to := s.Days[0].Date, s.Days[0].Date
	for i, d := range s.Days[1:] {
		if before := s.Days[i].Date; d.Date.Sub(before) > to.Sub(from) {
			from, to = before, d.Date
		}
	}
	return fmt.Sprintf("the longest gap is from %s to %s", from.Format("2006-01-02"), to.Format("2006-01-02"))
}

// assume says what must stay as it is.
func assume(r Result, each int, change *Change, bounded bool) []string {
	list := []string{fmt.Sprintf("what is added continues as in the last %s: in stretches like those", units.Count(r.History, "day"))}
	if bounded {
		list = []string{"it continues to be emptied as before: what is written is removed after the same time"}
	}
	if r.Slope != nil {
		list = append(list, fmt.Sprintf("the slope has been as it is since %s; whether that lasts is not known, so earlier times count too", r.Slope.Format("2006-01-02")))
	}
	if change != nil {
		list = append(list, fmt.Sprintf("it rests on what came after %s, when %s", change.At.Format("2006-01-02"), change.What))
	}
	switch {
	case each > 1:
		list = append(list, fmt.Sprintf("it was read about every %d days: it is assumed to have grown evenly between two readings, and a peak of a day or two is not visible", each))
	case r.Unknown > 0:
		list = append(list, fmt.Sprintf("of %s within that nothing is known but their sum", units.Count(r.Unknown, "day")))
	}
	if r.Limit != nil {
		list = append(list, "the limit stays where it is: "+r.Limit.Why)
	}
	if doubt := doubtOf(r.History, r.Horizon, each); doubt != "" && !bounded { // it is of growth
		list = append(list, doubt)
	}
	return list
}
