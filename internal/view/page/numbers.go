package page

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"plumb/internal/stats"
)

// Latency writes a duration with three digits and its unit: 850ns, 12.3µs,
// 4.56ms, 1.02s, 95.0s, 12m5s. It is at most six columns wide below an hour.
func Latency(d time.Duration) string {
	unit, per := "s", float64(time.Second)
	switch {
	case d >= 100*time.Second:
		return d.Round(time.Second).String()
	case d < time.Microsecond:
		return strconv.FormatInt(int64(d), 10) + "ns"
	case d < 999500*time.Nanosecond:
		unit, per = "µs", float64(time.Microsecond)
	case d < 999500*time.Microsecond:
		unit, per = "ms", float64(time.Millisecond)
	}
	return Digits3(float64(d)/per) + unit
}

// LatencyOf is latency, and a dash where nothing was measured.
func LatencyOf(d time.Duration, n int64) string {
	if n == 0 {
		return "–"
	}
	return Latency(d)
}

// Digits3 writes a number with three digits: 1.23, 12.3, 123. Larger ones
// stay whole.
func Digits3(v float64) string {
	switch a := math.Abs(v); {
	case a >= 99.95 || a == 0:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 9.995:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// PerSecond writes a rate: whole with commas from 1000 on.
func PerSecond(v float64) string {
	if v >= 999.5 {
		return Grouped(int64(math.Round(v)))
	}
	return Digits3(v)
}

// Grouped writes a whole number with commas: 1,234,567.
func Grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	first := 0
	if n < 0 {
		first = 1
	}
	for i := len(s) - 3; i > first; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Percent writes a part of one: 0.5 %, 12 %.
func Percent(part float64) string {
	if p := 100 * part; math.Abs(p) < 9.95 && p != 0 {
		return strconv.FormatFloat(p, 'f', 1, 64) + "\u00a0%"
	}
	return fmt.Sprintf("%.0f\u00a0%%", 100*part)
}

// Span writes how long something took or lasts: 0.35 s, 12.3 s, 2m30s.
func Span(d time.Duration) string {
	switch {
	case d >= 2*time.Minute:
		return d.Round(time.Second).String()
	case d%time.Second == 0 && d > 0:
		return fmt.Sprintf("%d\u00a0s", d/time.Second)
	}
	return Digits3(d.Seconds()) + "\u00a0s"
}

// Right pads s on the left to n columns.
func Right(s string, n int) string { return fmt.Sprintf("%*s", n, s) }

// Ms is a duration in milliseconds, the unit of sysbench and of JSON.
func Ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// BytesAbout writes a size with three digits.
func BytesAbout(n int64) string {
	v, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for len(units) > 1 && v >= 1000 {
		v, units = v/1024, units[1:]
	}
	return Digits3(v) + " " + units[0]
}

// ShortHash is as much of a hash as people need.
func ShortHash(h string) string { return h[:min(8, len(h))] }

// Differs writes the difference of two arms with its interval:
// −31 % (−40 to −22 %).
func Differs(e stats.Estimate) string {
	switch {
	case !MeasuredAtAll(e):
		return "–"
	case !Ranged(e):
		return Signed(e.Value)
	}
	return Signed(e.Value) + " " + DiffersRange(e)
}

// DiffersRange is the interval of an effect in brackets; "" where there is none.
func DiffersRange(e stats.Estimate) string {
	if !Ranged(e) {
		return ""
	}
	low, high := Signed(e.Low), Signed(e.High)
	if strings.HasSuffix(high, " %") { // the unit once is enough
		low = strings.TrimSuffix(low, " %")
	}
	return "(" + low + " to " + high + ")"
}

// Signed writes a relative difference: +5.2 %, −31 %, ×12. From eleven times
// on a factor is easier to read than a percentage.
func Signed(part float64) string {
	switch {
	case part >= 10:
		return "×" + Digits3(1+part)
	case math.Abs(part) < 0.0005:
		return "0 %"
	}
	return Sign(part) + PercentDigits(part) + " %"
}

// Sign is that of a number, also of one above nought.
func Sign(v float64) string {
	if v < 0 {
		return "−"
	}
	return "+"
}

// PercentDigits writes the size of a part in per cent: 0.52, 5.2, 31.
func PercentDigits(part float64) string {
	p := math.Abs(100 * part)
	switch {
	case p < 0.995:
		return strconv.FormatFloat(p, 'f', 2, 64)
	case p < 9.95:
		return strconv.FormatFloat(p, 'f', 1, 64)
	}
	return strconv.FormatFloat(p, 'f', 0, 64)
}

// RoundPercent writes a part that was chosen, not measured: 5 %, 2.5 %.
func RoundPercent(part float64) string {
	return strconv.FormatFloat(math.Round(1e4*part)/100, 'f', -1, 64) + " %"
}

// IsReal tells a number from what is none, and from infinity.
func IsReal(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// MeasuredAtAll tells whether there is a value to show.
func MeasuredAtAll(e stats.Estimate) bool { return e.N > 0 && IsReal(e.Value) }

// Ranged tells whether the interval is known: one value alone has none.
func Ranged(e stats.Estimate) bool {
	return MeasuredAtAll(e) && IsReal(e.Low) && IsReal(e.High) && (e.Low < e.High || e.N > 2)
}
