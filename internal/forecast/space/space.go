// Package space forecasts how much space is taken: by what was added each day,
// not by how much is taken, because a line through levels forgets that growth
// comes in stretches. It draws thousands of futures from the past, mixed of
// several ways to draw them by how right each was until now, and counts how many of
// them reach the limit by when. The same series gives the same forecast.
package space

import (
	"fmt"
	"math"
	"slices"
	"time"

	"plumb/internal/forecast"
)

const aDay = 24 * time.Hour

// Limit is where writing ends.
type Limit struct {
	Bytes float64
	Why   string // what it is: "what is used and available as of the last day"
}

// Ask is what is to be forecast, and what is known beside the series.
type Ask struct {
	Days    int         // how far ahead
	Limit   *Limit      // nil: none is known
	Bounded bool        // what is written leaves again after a time, as logs do
	Changes []Change    // after which the past is another one
	Keeps   string      // what settings say of how long what is asked about, or what is known of it, is kept; "" if nothing
	Read    []string    // how what is known was read, where it could have been read otherwise
	Full    []time.Time // days on which nothing more could be written
}

// Change is something that makes what was measured before it the past of another thing.
type Change struct {
	At   time.Time
	What string // "version 10.6.1 became 10.11.14"
}

// Result is a forecast of space, and what it rests on.
type Result struct {
	forecast.Forecast
	Past    []forecast.Day // all that is known, also before a change
	History int            // days that it rests on
	Unknown int            // of them without a value
	Horizon int            // days ahead
	Slope   *time.Time     // since when the slope is as it is; nil: no change of it was noticed
	Limit   *Limit
	Full    *Full // nil: no limit is known, or the forecast is refused
}

// Full says when a limit is reached.
type Full struct {
	Dates  [3]*time.Time // by which it is reached in 10, 50 and 90 % of the futures; nil: later than the horizon
	Chance float64       // that it is reached within the horizon
}

// Of forecasts a series.
func Of(s forecast.Series, ask Ask) Result {
	res := known(s, ask)
	s, ask = sound(s, ask)
	ask = stillEmptied(s, ask)
	s, change := sinceLast(s, ask.Changes)
	s, each, read, before := dense(s)
	if len(s.Days) > 0 {
		res.History, res.Unknown = days(s), s.Unknown()
	}
	if res.Refusal = refuse(s, each, read, ask, change); res.Refusal != nil {
		if ask.Keeps != "" {
			res.Refusal.Measure += "; " + ask.Keeps
		}
		return res
	}
	if ask.Keeps != "" {
		res.Assumptions = append(res.Assumptions, ask.Keeps)
	}
	res.Assumptions = append(res.Assumptions, ask.Read...)
	full := fullDays(s, ask.Full)
	if each > 1 {
		s = s.Even(each)
	}
	steps, from := s.Steps(), s.Last()
	if len(full) > 0 && !ask.Bounded {
		var said string
		steps, said = free(steps, full, each)
		before = append(before, said)
	}
	p := newPast(forecast.Added(steps), each)
	if each == 1 && p.cycle != week {
		before = append(before, fmt.Sprintf("what is added repeats each %d days", p.cycle))
	}
	var f Futures
	if ask.Bounded {
		f = drawBounded(s.Days[0].Value, steps, ask.Days, p.cycle)
	} else {
		f = p.draw(ask.Days)
	}
	for _, day := range shown(ask.Days, each) {
		res.Points = append(res.Points, forecast.Point{Date: from.Date.Add(time.Duration(day) * aDay), Value: levels(f.After(day), from.Value)})
	}
	last := res.Points[len(res.Points)-1].Value
	if last.Median() == 0 && from.Value > 0 && !ask.Bounded {
		why := f.toNothing(from, each)
		res.Points, res.Refusal = nil, &why
		return res
	}
	res.Full = f.full(from, ask)
	if start := p.regime[len(p.added)]; start > 0 && !ask.Bounded {
		res.Slope = &steps[start-1].Date
	}
	res.Assumptions = append(res.Assumptions, assume(res, each, change, ask.Bounded)...)
	res.Assumptions = append(res.Assumptions, before...)
	for _, why := range []string{noWidth(s, last), fallsToNothing(from, last, ask.Bounded)} {
		if why != "" {
			res.Assumptions = append(res.Assumptions, why)
		}
	}
	if !ask.Bounded {
		res.Rivals = f.rivals(p, from.Value)
	}
	return res
}

// known is what is said of a series in any case.
func known(s forecast.Series, ask Ask) Result {
	res := Result{Forecast: forecast.Forecast{Quantity: s.Quantity}, Past: s.Days, Limit: ask.Limit, Horizon: ask.Days}
	if len(s.Days) > 0 {
		res.Made = s.Last().Date
	}
	return res
}

// Refuse says of a series only what is known, and why nothing is forecast.
func Refuse(s forecast.Series, ask Ask, why forecast.Refusal) Result {
	res := known(s, ask)
	res.Refusal = &why
	return res
}

// sinceLast leaves out what was before the last change.
func sinceLast(s forecast.Series, changes []Change) (forecast.Series, *Change) {
	var last *Change
	for i, c := range changes {
		if len(s.Days) > 0 && c.At.After(s.Days[0].Date) && (last == nil || !c.At.Before(last.At)) {
			last = &changes[i]
		}
	}
	if last == nil {
		return s, nil
	}
	for len(s.Days) > 0 && s.Days[0].Date.Before(last.At.Truncate(aDay)) {
		s.Days = s.Days[1:]
	}
	return s, last
}

// noWidth says why the ranges of a forecast have no width; "" where they have one.
func noWidth(s forecast.Series, q forecast.Quantiles) string {
	switch first := s.Days[0].Value; {
	case !slices.ContainsFunc(s.Days, func(d forecast.Day) bool { return d.Value != first }):
		return "it was the same on all of these days: they do not show how it can change, so the ranges have no width"
	case q[4]-q[0] < 1: // byte
		return "its past suggests only one course: it does not show how else it could change, so the ranges have no width"
	}
	return ""
}

// days is how many a series spans.
func days(s forecast.Series) int { return int(s.Last().Date.Sub(s.Days[0].Date) / aDay) }

// levels are what is taken once so much was added. It is never less than nothing.
func levels(added forecast.Quantiles, from float64) (q forecast.Quantiles) {
	for i, v := range added {
		q[i] = math.Max(0, from+v)
	}
	return q
}

// mostShown is how many days of a forecast are told of, at most, beside the last one.
const mostShown = 60

// shown are the days that are told of: evenly, on such as will be read, and the last one always.
func shown(days, each int) (list []int) {
	step := each * ((days/each + mostShown - 1) / mostShown)
	for day := days - days%each; day > 0; day -= step {
		list = append(list, day)
	}
	slices.Reverse(list)
	if days%each > 0 {
		list = append(list, days)
	}
	return list
}

// full counts the futures that reach the limit.
func (f Futures) full(from forecast.Day, ask Ask) *Full {
	if ask.Limit == nil {
		return nil
	}
	room := ask.Limit.Bytes - from.Value
	reached := make([]int, ask.Days+1) // how many reach it on each day for the first time
	for _, c := range f.Courses {
		if day := firstPassage(c, room); day >= 0 {
			reached[day]++
		}
	}
	full, sum := &Full{}, 0
	for day, n := range reached {
		sum += n
		part := float64(sum) / float64(len(f.Courses))
		for i, least := range []float64{0.1, 0.5, 0.9} {
			if full.Dates[i] == nil && part >= least {
				at := from.Date.Add(time.Duration(day) * aDay)
				full.Dates[i] = &at
			}
		}
		full.Chance = part
	}
	return full
}

// firstPassage is the first day at which a course fills the room; 0 is now, and -1 never.
func firstPassage(course []float64, room float64) int {
	if room <= 0 {
		return 0
	}
	for i, v := range course {
		if v >= room {
			return i + 1
		}
	}
	return -1
}
