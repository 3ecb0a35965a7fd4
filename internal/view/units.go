package view

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// amount writes a value with its unit, in the way its field does: 16K, 64G,
// 5 s, 93 %. Text stays as it is; absent is said.
func amount(t catalog.Type, v stack.Value) string {
	n, isInt := v.Int()
	f, isNumber := v.Number()
	switch {
	case t == catalog.Bytes && isInt:
		return bytesText(n)
	case t == catalog.Millis && isInt:
		return durationText(time.Duration(n) * time.Millisecond)
	case t == catalog.Micros && isInt:
		return durationText(time.Duration(n) * time.Microsecond)
	case t == catalog.Seconds && isInt:
		return strconv.FormatInt(n, 10) + " s"
	case t == catalog.Percent && isNumber:
		return trimFloat(f) + " %"
	case t == catalog.Ratio && isNumber:
		return trimFloat(f*100) + " %"
	case t == catalog.Rate && isNumber:
		return trimFloat(f) + "/s"
	case v.IsAbsent():
		return "not there"
	}
	if s, ok := v.Text(); ok && s == "" {
		return `""`
	}
	return v.String()
}

// bytesText writes bytes in powers of 1024 with one decimal where it says
// something: 16K, 1.5G, 1000 (bytes that are no round number stay whole up
// to 10K, because 1000 and 1K are different settings).
func bytesText(n int64) string {
	if n < 0 {
		return "-" + bytesText(-n)
	}
	if n < 10<<10 && n%1024 != 0 || n < 1024 {
		return strconv.FormatInt(n, 10)
	}
	f, unit := float64(n), 0
	for f >= 1024 && unit < 5 {
		f /= 1024
		unit++
	}
	if s := strconv.FormatFloat(f, 'f', 1, 64); !strings.HasPrefix(s, "1024") {
		return strings.TrimSuffix(s, ".0") + "BKMGTP"[unit:unit+1]
	}
	return "1" + "BKMGTP"[unit+1:unit+2]
}

func durationText(d time.Duration) string {
	switch {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return fmt.Sprintf("%d us", d.Microseconds())
	case d < time.Second:
		return trimFloat(float64(d)/float64(time.Millisecond)) + " ms"
	}
	return trimFloat(d.Seconds()) + " s"
}

// age writes a duration as a person says it: 41 days, 3 hours.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return count(int(d.Hours()/24), "day")
	case d >= 2*time.Hour:
		return count(int(d.Hours()), "hour")
	case d >= 2*time.Minute:
		return count(int(d.Minutes()), "minute")
	}
	return count(int(d.Seconds()), "second")
}

func trimFloat(f float64) string {
	switch {
	case f >= 100 || f <= -100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	case f >= 10 || f <= -10:
		return strings.TrimSuffix(strconv.FormatFloat(f, 'f', 1, 64), ".0")
	}
	s := strconv.FormatFloat(f, 'f', 2, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
