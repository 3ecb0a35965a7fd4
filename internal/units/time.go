package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Time writes a setting, in microseconds, in the largest unit that keeps a
// whole number short: 5 s, 10 min, 250 ms.
func Time(us float64) string {
	abs := math.Abs(us)
	for _, u := range []struct {
		size float64
		name string
	}{{86400e6, "days"}, {3600e6, "h"}, {60e6, "min"}} {
		if abs >= 2*u.size && (math.Mod(abs, u.size) == 0 || abs >= 1000*60e6) {
			return Number(us/u.size) + " " + u.name
		}
	}
	switch {
	case abs >= 1e6 || us == 0:
		return Number(us/1e6) + " s"
	case abs >= 1e3:
		return Number(us/1e3) + " ms"
	}
	return Number(us) + " µs"
}

// Age writes measured seconds as people say them: 67 min, 18 h, 3 days.
// Settings stay exact (see Time).
func Age(s int64) string {
	rounded := func(unit int64) string { return strconv.FormatInt((s+unit/2)/unit, 10) }
	switch {
	case s < 120:
		return strconv.FormatInt(s, 10) + " s"
	case s < 120*60:
		return rounded(60) + " min"
	case s < 48*3600:
		return rounded(3600) + " h"
	}
	return rounded(86400) + " days"
}

// Short writes a length of time as it is typed, without the zeros that Go puts
// behind it: 20m, 3h5m.
func Short(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// Planned writes a length of time as people plan with it: 40s, 12m, 3h20m.
func Planned(d time.Duration) string {
	if d < 2*time.Minute {
		return Short(d.Round(time.Second))
	}
	return Short(d.Round(time.Minute))
}

// Span writes how long something took or lasts: 0.35 s, 12.3 s, 2m30s.
func Span(d time.Duration) string {
	switch {
	case d > 0 && d < 10*time.Millisecond:
		return Spaced(float64(d) / float64(time.Millisecond)) // as seconds it would be mostly noughts
	case d >= 2*time.Minute:
		return Short(d.Round(time.Second))
	case d%time.Second == 0 && d > 0:
		return fmt.Sprintf("%d s", d/time.Second)
	}
	return Digits3(d.Seconds()) + " s"
}

// Latency writes a measured time with three digits and its unit: 850ns, 12.3µs,
// 4.56ms, 1.02s, 95.0s, 12m5s. It is at most six columns wide below an hour.
func Latency(d time.Duration) string {
	number, unit := latency(d)
	return number + unit
}

func latency(d time.Duration) (number, unit string) {
	unit, per := "s", float64(time.Second)
	switch {
	case d >= 100*time.Second:
		return Short(d.Round(time.Second)), ""
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10), "ns"
	case d < 999500*time.Nanosecond:
		unit, per = "µs", float64(time.Microsecond)
	case d < 999500*time.Microsecond:
		unit, per = "ms", float64(time.Millisecond)
	}
	return Digits3(float64(d) / per), unit
}

// LatencyOf is Latency, and a dash where nothing was measured.
func LatencyOf(d time.Duration, n int64) string {
	if n == 0 {
		return "–"
	}
	return Latency(d)
}

// Milliseconds is Latency of a number of ms, and a dash for what is none.
func Milliseconds(ms float64) string {
	if !isTime(ms) {
		return "–"
	}
	return Latency(time.Duration(ms * float64(time.Millisecond)))
}

// Spaced is Milliseconds with a space before the unit, as it is set on paper:
// 1.23 ms. Beyond 100 s it stays 12m5s.
func Spaced(ms float64) string {
	if !isTime(ms) {
		return "–"
	}
	number, unit := latency(time.Duration(ms * float64(time.Millisecond)))
	if unit == "" {
		return number
	}
	return number + " " + unit
}

func isTime(ms float64) bool { return IsReal(ms) && ms >= 0 && ms <= 1e11 }

// Tick writes a time that is a tick of an axis: 1 ms, 500 µs, 10 s.
func Tick(ms float64) string {
	for _, u := range []struct {
		name string
		per  float64
	}{{"s", 1000}, {"ms", 1}, {"µs", 0.001}} {
		if ms >= u.per*0.999 {
			return Whole(ms/u.per) + " " + u.name
		}
	}
	return Whole(ms*1e6) + " ns"
}

// Moment writes a moment, to the second: 2026-11-25 03:12:05 UTC.
func Moment(t time.Time) string { return t.UTC().Format(time.DateTime + " UTC") }

// Instant writes a moment, to the millisecond: 2026-11-25 03:12:05.250 UTC.
func Instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000 UTC") }

// Minute writes a moment, to the minute: 2026-11-25 03:12 UTC.
func Minute(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
