package space

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/units"
)

// Where something is full, or empty, it can grow or fall no further, and what would have come is in no reading.

// stands is the part of itself by which what is full may still grow or fall from one day to the next.
const stands = 1e-4

// fullDays are the days on which it was full, also those between two readings that say so.
func fullDays(s forecast.Series, read []time.Time) map[time.Time]bool {
	is := map[time.Time]bool{}
	for _, day := range read {
		is[day] = true
	}
	full, last := map[time.Time]bool{}, time.Time{}
	for _, d := range s.Days {
		if !is[d.Date] {
			last = time.Time{}
			continue
		}
		for day := d.Date; day.Equal(d.Date) || !last.IsZero() && day.After(last); day = day.Add(-aDay) {
			full[day] = true
		}
		last = d.Date
	}
	return full
}

// free leaves out the days on which nothing more could be written, because they do not tell what would have been: whole weeks
// of them, or whole readings, so that the others stay in their places. Where too few days would remain, all count. It says so.
func free(steps []forecast.Step, full map[time.Time]bool, each int) (kept []forecast.Step, said string) {
	said = fmt.Sprintf("it was full on %s until %s: what could not be written then is not known", units.Count(len(full), "day"),
		slices.MaxFunc(slices.Collect(maps.Keys(full)), time.Time.Compare).Format(time.DateOnly))
	held := func(step forecast.Step) bool {
		return full[step.Date] && full[step.Date.Add(-aDay)] && math.Abs(step.Added) < stands*step.Level
	}
	cycle := each
	if each == 1 {
		cycle = week
	}
	for i := 0; i < len(steps); i++ {
		from := i
		for i < len(steps) && held(steps[i]) {
			i++
		}
		kept = append(kept, steps[from:from+(i-from)%cycle]...)
		if i < len(steps) {
			kept = append(kept, steps[i])
		}
	}
	if len(kept) < leastDays {
		return steps, said
	}
	return kept, said + ", and those days do not show how it grows"
}

// toNothing refuses a forecast of what would be gone: until which day it can be told, and what would permit more.
func (f Futures) toNothing(from forecast.Day, each int) forecast.Refusal {
	days := 0
	for days < len(f.Courses[0]) && levels(f.After(days+1), from.Value).Median() > 0 {
		days++
	}
	measure := "keep recording until it no longer falls"
	if days >= each {
		measure = fmt.Sprintf("ask for %s or less, or %s", units.Count(days, "day"), measure)
	}
	return forecast.Refusal{Why: fmt.Sprintf("it shrinks, and would reach zero by %s: where it stops is not known", from.Date.AddDate(0, 0, days+1).Format(time.DateOnly)), Measure: measure}
}

// fallsToNothing says that a range ends where nothing is left; "" where it does not.
func fallsToNothing(from forecast.Day, q forecast.Quantiles, bounded bool) string {
	if q[0] > 0 || from.Value == 0 || bounded {
		return ""
	}
	return "in some futures nothing is left: its past does not show how much always stays"
}
