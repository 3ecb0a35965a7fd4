package mysql

import (
	"math"
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// typed reads a value as the server shows or an option file writes it, in the
// type the catalogue gives. ok is false when the text does not fit the type; a
// setting that is not in the catalogue stays text.
func typed(f *catalog.Fact, text string) (v stack.Value, ok bool) {
	if f == nil {
		return stack.Text(text), true
	}
	switch f.Type {
	case catalog.Bool:
		b, ok := Truth(text)
		return stack.Bool(b), ok
	case catalog.Int, catalog.Bytes, catalog.Millis, catalog.Micros, catalog.Seconds:
		n, ok := whole(text)
		return stack.Int(n), ok
	case catalog.Float, catalog.Percent, catalog.Ratio, catalog.Rate:
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		return stack.Float(n), err == nil && !math.IsNaN(n) && !math.IsInf(n, 0)
	case catalog.List:
		return stack.List(strings.Split(text, ",")), true
	}
	return stack.Text(enumerated(f, text)), true
}

// Truth reads the words for on and off. An option without a value is off. The last two for on are read_only's alone, of MariaDB
// since 12.0 (MDEV-36425): they forbid more than ON does.
func Truth(text string) (b, ok bool) {
	switch strings.ToUpper(strings.TrimSpace(text)) {
	case "ON", "1", "YES", "TRUE", "NO_LOCK", "NO_LOCK_NO_ADMIN":
		return true, true
	case "OFF", "0", "NO", "FALSE", "":
		return false, true
	}
	return false, false
}

// whole reads a number with the suffixes option files know. Numbers beyond
// int64 (the server's "no limit") become the largest one.
func whole(text string) (int64, bool) {
	s := strings.TrimSpace(text)
	shift := 0
	if s != "" {
		if i := strings.IndexByte("KMGTPE", s[len(s)-1]&^0x20); i >= 0 {
			shift = 10 * (i + 1)
			s = s[:len(s)-1]
		}
	}
	if u, err := strconv.ParseUint(s, 10, 64); err == nil {
		if u > math.MaxInt64>>shift {
			return math.MaxInt64, true
		}
		return int64(u) << shift, true
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err == nil {
		return n << shift, true
	}
	// Variables of type double that hold whole numbers: "90.000000".
	fl, err := strconv.ParseFloat(s, 64)
	if err != nil || fl != math.Trunc(fl) || math.Abs(fl) > 1<<53 {
		return 0, false
	}
	return int64(fl), true
}

// enumerated gives an enumeration its usual spelling, and ON and OFF for the
// numbers and words an option file may use for them.
func enumerated(f *catalog.Fact, text string) string {
	if f.Knob == nil || len(f.Knob.Values) == 0 {
		return text
	}
	for _, v := range f.Knob.Values {
		if strings.EqualFold(v, text) {
			return v
		}
	}
	for _, v := range f.Knob.Values {
		if v == "ON" || v == "OFF" {
			if b, ok := Truth(text); ok && b {
				return "ON"
			} else if ok {
				return "OFF"
			}
		}
	}
	return text
}
