package postgres

import (
	"strconv"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// typed turns a value as the server or a file writes it into the unit of its
// fact. unit is the one a bare number has: B, kB, 8kB, 16kB, MB, us, ms, s,
// min or none. -1 and 0 keep their special meanings. ok is false when the
// text is not such a value.
func typed(f *catalog.Fact, unit, text string) (v stack.Value, ok bool) {
	text = strings.TrimSpace(text)
	switch f.Type {
	case catalog.Text:
		return stack.Text(text), true
	case catalog.Bool:
		b, ok := ParseBool(text)
		return stack.Bool(b), ok
	case catalog.List:
		return stack.List(splitNames(text)), true
	}
	n, suffix, ok := Number(text)
	if !ok {
		return stack.Value{}, false
	}
	if suffix == "" {
		suffix = unit
	}
	if suffix == "" && f.Type == catalog.Bytes {
		suffix = "B" // block_size counts bytes and has no unit in pg_settings
	}
	switch f.Type {
	case catalog.Int:
		return stack.Int(int64(n)), suffix == ""
	case catalog.Float, catalog.Ratio, catalog.Rate, catalog.Percent:
		return stack.Float(n), true
	}
	if n == 0 || n == -1 {
		return stack.Int(int64(n)), true
	}
	in, base := Scale(suffix), 1.0
	switch f.Type {
	case catalog.Millis:
		base = 1e3
	case catalog.Seconds:
		base = 1e6
	}
	if in == 0 || IsSize(suffix) != (f.Type == catalog.Bytes) {
		return stack.Value{}, suffix == ""
	}
	return stack.Int(int64(n * in / base)), true
}

// Number splits "128MB" into its number and unit. Whole numbers may be
// written in hexadecimal or octal.
func Number(text string) (n float64, unit string, ok bool) {
	if whole, err := strconv.ParseInt(text, 0, 64); err == nil {
		return float64(whole), "", true
	}
	end := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || n != n || n > 1e18 || n < -1e18 {
		return 0, "", false
	}
	return n, strings.TrimSpace(text[end:]), true
}

// Scale gives a unit in bytes or microseconds; 0 for one that is unknown.
// Units of pg_settings have a factor: 8kB, 16MB.
func Scale(unit string) float64 {
	name := strings.TrimLeft(unit, "0123456789")
	factor := 1.0
	if digits := unit[:len(unit)-len(name)]; digits != "" {
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return 0
		}
		factor = float64(n)
	}
	return factor * map[string]float64{"B": 1, "kB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40,
		"us": 1, "ms": 1e3, "s": 1e6, "min": 60e6, "h": 3600e6, "d": 86400e6}[name]
}

// IsSize tells units of bytes from those of time.
func IsSize(unit string) bool { return strings.HasSuffix(unit, "B") }

// ParseBool takes what the server takes: unambiguous beginnings of true,
// false, yes, no, and on, off, 1, 0.
func ParseBool(text string) (value, ok bool) {
	t := strings.ToLower(strings.TrimSpace(text))
	switch {
	case t == "":
		return false, false
	case t == "on" || t == "1" || strings.HasPrefix("true", t) || strings.HasPrefix("yes", t):
		return true, true
	case t == "off" || t == "of" || t == "0" || strings.HasPrefix("false", t) || strings.HasPrefix("no", t):
		return false, true
	}
	return false, false
}

// splitNames splits a list of names, which may be in double quotes.
func splitNames(text string) []string {
	var out []string
	for name := range strings.SplitSeq(text, ",") {
		if name = strings.Trim(strings.TrimSpace(name), `"`); name != "" {
			out = append(out, name)
		}
	}
	return out
}
