package space

import (
	"fmt"
	"math"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/units"
)

// Where something is full, or empty, it can grow or fall no further, and what would have come is in no reading.

// stands is the part of itself by which what is full may still grow or fall from one day to the next.
const stands = 1e-4

// free leaves out the days on which nothing more could be written, because they do not tell what would have been: whole weeks
// of them, so that weekdays stay in their places. Where too few days would remain, all count. It says so.
func free(steps []forecast.Step, s forecast.Series, full []time.Time) (kept []forecast.Step, said []string) {
	is := map[time.Time]bool{}
	for _, day := range full {
		is[day] = true
	}
	var days []forecast.Day
	for _, d := range s.Days {
		if is[d.Date] {
			days = append(days, d)
		}
	}
	if len(days) == 0 {
		return steps, nil
	}
	said = []string{fmt.Sprintf("it was full on %s until %s: what could not be written then is not known, and those days do not tell how it grows",
		units.Count(len(days), "day"), days[len(days)-1].Date.Format(time.DateOnly))}
	held := func(step forecast.Step) bool {
		return is[step.Date] && is[step.Date.Add(-aDay)] && math.Abs(step.Added) < stands*step.Level
	}
	for i := 0; i < len(steps); i++ {
		from := i
		for i < len(steps) && held(steps[i]) {
			i++
		}
		kept = append(kept, steps[from:from+(i-from)%week]...)
		if i < len(steps) {
			kept = append(kept, steps[i])
		}
	}
	if len(kept) < leastDays {
		return steps, said
	}
	return kept, said
}

// toNothing refuses a forecast of what would be gone: until which day it can be told, and what would permit more.
func (f Futures) toNothing(from forecast.Day) forecast.Refusal {
	days := 0
	for days < len(f.Courses[0]) && levels(f.After(days+1), from.Value).Median() > 0 {
		days++
	}
	measure := "record on until it no longer falls"
	if days > 0 {
		measure = fmt.Sprintf("ask for %s or less, or %s", units.Count(days, "day"), measure)
	}
	return forecast.Refusal{Why: fmt.Sprintf("it falls, and would be gone by %s: where it stops is not known", from.Date.AddDate(0, 0, days+1).Format(time.DateOnly)), Measure: measure}
}

// fallsToNothing says that a range ends where nothing is left; "" where it does not.
func fallsToNothing(from forecast.Day, q forecast.Quantiles, bounded bool) string {
	if q[0] > 0 || from.Value == 0 || bounded {
		return ""
	}
	return "in some futures nothing is left: what stays in any case cannot be told from its past"
}
