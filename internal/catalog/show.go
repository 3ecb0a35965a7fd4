package catalog

import (
	"math"
	"strconv"
	"strings"
	"time"

	"plumb/internal/stack"
)

// Show writes a fact's value for people, with its unit: 16K, 1.5G, 5 s, 93 %,
// 3000/s, on. It is the one place that does. A nil fact shows the bare value.
func Show(f *Fact, v stack.Value) string {
	if f == nil {
		return ShowAs("", v)
	}
	if n, ok := v.Int(); ok && f.Type == Seconds && f.Knob == nil {
		return showAge(n)
	}
	return ShowAs(f.Type, v)
}

// ShowAs is Show for a value that is no fact but has a unit.
func ShowAs(t Type, v stack.Value) string {
	n, isInt := v.Int()
	x, isNumber := v.Number()
	switch {
	case v.IsAbsent():
		return "not there"
	case t == Bytes && isInt:
		return showBytes(n)
	case t == Bytes && isNumber:
		return showBytes(int64(math.Round(x)))
	case isNumber && (t == Millis || t == Micros || t == Seconds):
		return showTime(x * map[Type]float64{Micros: 1, Millis: 1e3, Seconds: 1e6}[t])
	case t == Percent && isNumber:
		return showFloat(x) + " %"
	case t == Ratio && isNumber:
		return showFloat(x*100) + " %"
	case t == Rate && isNumber:
		return showFloat(x) + "/s"
	case isInt:
		return strconv.FormatInt(n, 10)
	case isNumber:
		return showFloat(x)
	}
	if s, ok := v.Text(); ok && s == "" {
		return `""`
	}
	return v.String()
}

// showBytes stays exact for the numbers people type (16385 and 16K are
// different settings) and rounds to one decimal from 1M on, where only
// measured sizes are odd.
func showBytes(n int64) string {
	if n < 0 {
		if n == math.MinInt64 {
			n++
		}
		return "-" + showBytes(-n)
	}
	const letters = "KMGTPE"
	unit, size := -1, int64(1)
	for unit+1 < len(letters) && n >= size*1024 {
		unit, size = unit+1, size*1024
	}
	if unit < 0 || unit == 0 && n%1024 != 0 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	if n%size == 0 {
		return strconv.FormatInt(n/size, 10) + letters[unit:unit+1]
	}
	if unit > 0 && n%(size/1024) == 0 && n < 10*size && float64(n)/float64(size) != math.Trunc(float64(n)/float64(size)*10)/10 {
		return strconv.FormatInt(n/(size/1024), 10) + letters[unit-1:unit] // 1100M rather than 1.1G
	}
	text := strconv.FormatFloat(float64(n)/float64(size), 'f', 1, 64)
	if text == "1024.0" && unit+1 < len(letters) {
		return "1" + letters[unit+1:unit+2]
	}
	return strings.TrimSuffix(text, ".0") + letters[unit:unit+1]
}

// showAge writes measured seconds as people say them: 67 min, 18 h, 3 days.
// Settings stay exact (see showTime).
func showAge(s int64) string {
	rounded := func(unit int64) string { return strconv.FormatInt((s+unit/2)/unit, 10) }
	switch {
	case s < 0 || s < 120:
		return strconv.FormatInt(s, 10) + " s"
	case s < 120*60:
		return rounded(60) + " min"
	case s < 48*3600:
		return rounded(3600) + " h"
	}
	return rounded(86400) + " days"
}

// ShortTime writes a duration without the zeros that Go puts behind it: 20m.
func ShortTime(d time.Duration) string {
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// showTime writes microseconds in the largest unit that keeps a whole number
// short.
func showTime(us float64) string {
	abs := math.Abs(us)
	for _, u := range []struct {
		size float64
		name string
	}{{86400e6, "days"}, {3600e6, "h"}, {60e6, "min"}} {
		if abs >= 2*u.size && (math.Mod(abs, u.size) == 0 || abs >= 1000*60e6) {
			return showFloat(us/u.size) + " " + u.name
		}
	}
	switch {
	case abs >= 1e6 || us == 0:
		return showFloat(us/1e6) + " s"
	case abs >= 1e3:
		return showFloat(us/1e3) + " ms"
	}
	return showFloat(us) + " us"
}

// showFloat keeps three or four figures that say something.
func showFloat(f float64) string {
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
