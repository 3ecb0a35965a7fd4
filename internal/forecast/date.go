package forecast

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
)

// forms are how days and moments are written: by ISO 8601, by spreadsheets, by psql,
// mysql and git, and by date in the languages that have these names of months. What could
// be a day or a month first is not among them.
var forms = []string{
	time.DateOnly, time.RFC3339, time.DateTime, "2006-01-02T15:04:05", "2006-01-02T15:04:05-0700", "2006-01-02T15:04", "2006-01-02 15:04",
	"2006-01-02T15:04Z07:00", "2006-01-02 15:04Z07:00", "2006-01-02T15:04:05-07", "2006-01-02 15:04:05 -0700 MST", "2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05-07", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 -07:00", "2006-01-02 15:04:05 MST",
	"2006/1/2", "2006-1-2", "2006.1.2", "2006/1/2 15:04:05", "2006/1/2 15:04", "20060102", "20060102T150405", "20060102150405", "200601021504", "20060102 15:04:05", "20060102 15:04",
	"Mon Jan _2 15:04:05 MST 2006", "Mon Jan _2 15:04:05 2006", "Mon Jan _2 03:04:05 PM MST 2006", "Mon _2 Jan 15:04:05 MST 2006",
	"Mon _2 Jan 2006 15:04:05 MST", "Mon _2 Jan 2006 03:04:05 PM MST", "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST",
	"2 Jan 2006", "2-Jan-2006", "2-Jan-06", "2 January 2006", "Jan 2, 2006", "Jan 2 2006", "January 2, 2006", "2/Jan/2006:15:04:05 -0700",
}

// Moment reads a day or a moment, as files of readings write it. It is UTC where it
// says no offset: an abbreviation such as CST is of several, and the days are those that
// are written.
func Moment(s string) (at time.Time, is bool) {
	if at, is := epoch(s); is {
		return at, true
	}
	at, form := momentOf(s)
	return at.UTC(), form != ""
}

// momentOf gives the form that fits as well, and the moment with the offset that it has; "" for none.
func momentOf(s string) (at time.Time, form string) {
	for _, form := range forms {
		// in UTC: else what an abbreviation is depends on the machine
		if at, err := time.ParseInLocation(form, s, time.UTC); err == nil {
			return at, form
		}
	}
	return time.Time{}, ""
}

// stamps are numbers that are dates, since 1970: so many of them are a second. Seconds count from 1973 on, because a number of
// days or of a row is none; milliseconds, microseconds and nanoseconds from 1989 on, because 202611250300 is another form.
var stamps = []struct{ second, least, most float64 }{{1, 1e8, 1e11}, {1e3, 6e11, 1e13}, {1e6, 6e14, 1e16}, {1e9, 6e17, 1e19}}

// epoch reads the time since 1970.
func epoch(s string) (at time.Time, is bool) {
	n, err := strconv.ParseFloat(s, 64)
	for _, stamp := range stamps {
		if err == nil && n >= stamp.least && n < stamp.most {
			whole, part := math.Modf(n / stamp.second)
			return time.Unix(int64(whole), int64(part*1e9)).UTC(), true
		}
	}
	return time.Time{}, false
}

// dates are how a file writes dates. Whether day or month comes first is learned from
// those that can only be read in one way.
type dates struct {
	day, month mark   // dates that can only have the day, or the month, first
	learning   bool   // what can be read in two ways is no error yet
	form       string // the last one that fitted
}

// parse reads a day, a moment, or a time since 1970.
func (d *dates) parse(s string, line int) (time.Time, error) {
	if at, is := epoch(s); is {
		return possible(at, s)
	}
	if at, err := time.ParseInLocation(d.form, s, time.UTC); d.form != "" && err == nil {
		return possible(at, s)
	}
	day, clock, err := atClock(s)
	if err != nil {
		return time.Time{}, notDate(s)
	}
	if m := numericDate.FindStringSubmatch(day); m != nil {
		at, err := d.numeric(day, m, line)
		if err != nil {
			return time.Time{}, err
		}
		return possible(at.Add(clock), s)
	}
	if at, form := momentOf(s); form != "" {
		d.form = form
		return possible(at, s)
	}
	if at, form := momentOf(day); form != "" {
		return possible(at.Add(clock), s)
	}
	return time.Time{}, notDate(s)
}

// numbered says what to do with a number that is no date; "" of anything else.
func numbered(s string) string {
	if _, err := strconv.ParseFloat(s, 64); err != nil {
		return ""
	}
	return "a number is a date in seconds, or in milli-, micro- or nanoseconds, since 1970, or as 20261125; where a spreadsheet counts days, format them as dates, best as 2026-11-25"
}

func notDate(s string) error { return fmt.Errorf("%q is not a date", Clip(s)) }

var clocks = regexp.MustCompile(`^(.+?)[ T,]+([0-9]{1,2}:[0-9]{2})(:[0-9]{2})?(?:[.,][0-9]+)?(?: ?([AaPp])\.?[Mm]\.?)?$`)

// atClock parts a moment into a day and the time of that day.
func atClock(s string) (day string, clock time.Duration, err error) {
	m := clocks.FindStringSubmatch(s)
	if m == nil {
		return s, 0, nil
	}
	form, text := "15:04", m[2]
	if m[3] != "" {
		form, text = form+":05", text+m[3]
	}
	if m[4] != "" {
		form, text = strings.Replace(form, "15", "3", 1)+"PM", text+strings.ToUpper(m[4])+"M"
	}
	at, err := time.Parse(form, text)
	return m[1], at.Sub(at.Truncate(24 * time.Hour)), err
}

var numericDate = regexp.MustCompile(`^([0-9]{1,2})([./-])([0-9]{1,2})([./-])([0-9]{4}|[0-9]{2})$`)

// numeric reads a day such as 25.11.2026 or 11/25/2026: m are its parts.
func (d *dates) numeric(s string, m []string, line int) (time.Time, error) {
	if m[2] != m[4] {
		return time.Time{}, notDate(s)
	}
	if len(m[5]) == 2 {
		return time.Time{}, hint.With(fmt.Errorf("%q has a year of two digits, which could be a day", s), "write the year with four digits, best as 2026-11-25")
	}
	first, second := toInt(m[1]), toInt(m[3])
	switch {
	case first > 12 && second > 12:
		return time.Time{}, notDate(s)
	case first > 12:
		d.day.set(line, s)
	case second > 12:
		d.month.set(line, s)
	case first != second && d.day.line == 0 && d.month.line == 0 && !d.learning:
		return time.Time{}, hint.With(fmt.Errorf("%q can have the day or the month first, and no date in the file shows which", s), "write dates as 2026-11-25")
	}
	if d.month.line > 0 {
		first, second = second, first
	}
	at := time.Date(toInt(m[5]), time.Month(second), first, 0, 0, 0, 0, time.UTC)
	if (at.Day() != first || int(at.Month()) != second) && !d.learning {
		return time.Time{}, notDate(s) // such as 30.02.2026
	}
	return at, nil
}

func toInt(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// agree is an error where a file writes dates in two ways.
func (d *dates) agree() error {
	if d.day.line > 0 && d.month.line > 0 {
		return hint.With(fmt.Errorf("line %d has the day first (%s), and line %d the month (%s)", d.day.line, d.day.text, d.month.line, d.month.text), "write dates as 2026-11-25")
	}
	return nil
}

// possible leaves out dates at which no disk was filled.
func possible(at time.Time, s string) (time.Time, error) {
	for _, y := range []int{at.Year(), at.UTC().Year()} {
		if y < 1970 || y > 2200 {
			return time.Time{}, fmt.Errorf("%q is not a date of a disk", Clip(s))
		}
	}
	return at, nil
}

// written is a moment as it is written, without its offset: a reading at midnight is of that day, in summer and in winter.
func written(at time.Time) time.Time {
	_, offset := at.Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}
