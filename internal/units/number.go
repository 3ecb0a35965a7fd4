package units

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"plumb/internal/stats"
)

// Number keeps three or four figures that say something.
func Number(f float64) string {
	digits := 2
	if abs := math.Abs(f); abs >= 100 || f == math.Trunc(f) {
		digits = 0
	} else if abs >= 10 {
		digits = 1
	} else if abs < 0.1 {
		return strconv.FormatFloat(f, 'g', 2, 64)
	}
	s := strconv.FormatFloat(f, 'f', digits, 64)
	if digits > 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// Digits3 writes a measured number with three digits: 1.23, 12.3, 123. Larger
// ones stay whole.
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

// Whole writes a round number without noughts after the point.
func Whole(v float64) string {
	return strconv.FormatFloat(math.Round(1e6*v)/1e6, 'f', -1, 64)
}

// PerSecond writes a rate: whole with commas from 1000 on, and by its first digits where nobody counts the others.
func PerSecond(v float64) string {
	switch {
	case v >= 1e15:
		return strconv.FormatFloat(v, 'g', 3, 64)
	case v >= 999.5:
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

// Count writes "1 finding", "2 findings".
func Count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Counted writes a count with the word that goes with one of them or with several: "1 block is", "2 blocks are".
func Counted[N int | int64](n N, noun, one, several string) string {
	if n == 1 {
		return Count(n, noun) + " " + one
	}
	return Count(n, noun) + " " + several
}

// Some names the first n of a list and counts the rest, unless that is one.
func Some(names []string, n int) string {
	if len(names) <= n+1 {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:n], ", ") + " and " + Count(len(names)-n, "other")
}

// Start gives the beginning of a text: so many characters at most, with an ellipsis for what is left out.
func Start(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}

// End gives the end of a text, as Start gives the beginning.
func End(text string, most int) string {
	left := utf8.RuneCountInString(text) - most
	if left <= 0 {
		return text
	}
	for i := range text {
		if left == 0 {
			return "…" + text[i:]
		}
		left--
	}
	return "…"
}

// Percent writes a part of one: 0.5 %, 12 %.
func Percent(part float64) string {
	if p := 100 * part; math.Abs(p) < 9.95 && p != 0 {
		return strconv.FormatFloat(p, 'f', 1, 64) + " %"
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// PercentDigits writes the size of a part in per cent, without sign and unit:
// 0.52, 5.2, 31.
func PercentDigits(part float64) string {
	p := math.Abs(100 * part)
	switch {
	case p == 0:
		return "0"
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

// Sign is that of a number, also of one above nought.
func Sign(v float64) string {
	if v < 0 {
		return "−"
	}
	return "+"
}

// Signed writes a relative difference: +5.2 %, −31 %, ×12. From eleven times
// on a factor is easier to read than a percentage.
func Signed(part float64) string {
	switch {
	case part >= 10:
		return "×" + Digits3(1+part)
	case math.Abs(part) < 0.00005:
		return "0 %"
	}
	return Sign(part) + PercentDigits(part) + " %"
}

// Interval is the interval of a relative difference, with the unit once:
// −1.2 to +2.9 %.
func Interval(e stats.Estimate) string {
	low, high := Signed(e.Low), Signed(e.High)
	if strings.HasSuffix(high, " %") {
		low = strings.TrimSuffix(low, " %")
	}
	return low + " to " + high
}

// Differs writes a relative difference with its interval: −31 % (−40 to −22 %).
func Differs(e stats.Estimate) string {
	switch {
	case !MeasuredAtAll(e):
		return "–"
	case !Ranged(e):
		return Signed(e.Value)
	}
	return Signed(e.Value) + " " + DiffersRange(e)
}

// DiffersRange is the interval of a difference in brackets; "" where there is
// none.
func DiffersRange(e stats.Estimate) string {
	if !Ranged(e) {
		return ""
	}
	return "(" + Interval(e) + ")"
}

// IsReal tells a number from what is none, and from infinity.
func IsReal(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// MeasuredAtAll tells whether there is a value to show.
func MeasuredAtAll(e stats.Estimate) bool { return e.N > 0 && IsReal(e.Value) }

// Ranged tells whether the interval is known: one value alone has none.
func Ranged(e stats.Estimate) bool {
	return MeasuredAtAll(e) && IsReal(e.Low) && IsReal(e.High) && (e.Low < e.High || e.N > 2)
}
