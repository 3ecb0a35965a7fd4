package catalog

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"plumb/internal/stack"
)

// ParseValue reads a value as a file or a server writes it, by the type of
// its fact. Bytes take K, KB, KiB, M … P, all in powers of 1024; times take
// their units and are rounded down to the unit of the fact.
func ParseValue(f *Fact, text string) (stack.Value, error) {
	text = strings.TrimSpace(text)
	v, err := parse(f.Type, text)
	if err != nil {
		return stack.Value{}, fmt.Errorf("%q is not a value of type %s: %w", text, f.Type, err)
	}
	return v, nil
}

func parse(t Type, text string) (stack.Value, error) {
	switch t {
	case Text:
		return stack.Text(text), nil
	case List:
		return stack.List(splitList(text)), nil
	case Bool:
		b, err := parseBool(text)
		return stack.Bool(b), err
	case Int:
		n, err := parseInt(text)
		return stack.Int(n), err
	case Bytes:
		n, err := parseScaled(text, byteUnits(), 1)
		return stack.Int(n), err
	case Millis:
		n, err := parseScaled(text, timeUnits(), 1e3)
		return stack.Int(n), err
	case Micros:
		n, err := parseScaled(text, timeUnits(), 1)
		return stack.Int(n), err
	case Seconds:
		n, err := parseScaled(text, timeUnits(), 1e6)
		return stack.Int(n), err
	case Float, Percent, Ratio, Rate:
		f, err := parseFloat(t, text)
		return stack.Float(f), err
	}
	return stack.Value{}, errors.New("unknown type")
}

func splitList(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "on", "1", "true", "yes", "y", "enabled":
		return true, nil
	case "off", "0", "false", "no", "n", "disabled":
		return false, nil
	}
	return false, errors.New("want ON or OFF")
}

func parseInt(text string) (int64, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	if u, err := strconv.ParseUint(text, 10, 64); err == nil && u > math.MaxInt64 {
		return math.MaxInt64, nil // servers write "no limit" as 2^64-1
	}
	if n, err := strconv.ParseInt(text, 0, 64); err == nil {
		return n, nil
	}
	return 0, errors.New("want a whole number")
}

func parseFloat(t Type, text string) (float64, error) {
	number := text
	switch t {
	case Percent, Ratio:
		number = strings.TrimSpace(strings.TrimSuffix(text, "%"))
	case Rate:
		number = strings.TrimSuffix(text, "/s")
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0, errors.New("want a number")
	}
	if t == Ratio && number != text {
		f /= 100
	}
	return f, nil
}

// byteUnits are in bytes; a bare number has the unit "".
func byteUnits() map[string]float64 {
	units := map[string]float64{"": 1, "b": 1}
	for i, letter := range []string{"k", "m", "g", "t", "p", "e"} {
		n := math.Pow(1024, float64(i+1))
		units[letter], units[letter+"b"], units[letter+"ib"] = n, n, n
	}
	return units
}

// timeUnits are in microseconds.
func timeUnits() map[string]float64 {
	return map[string]float64{"us": 1, "µs": 1, "ms": 1e3, "s": 1e6, "sec": 1e6, "min": 60e6, "h": 3600e6, "d": 86400e6}
}

// parseScaled reads a whole number with an optional unit and gives it in units
// of base. A number without a unit is in base units already.
func parseScaled(text string, units map[string]float64, base float64) (int64, error) {
	if n, err := parseInt(text); err == nil {
		return n, nil
	}
	end := strings.LastIndexAny(text, "0123456789.") + 1
	unit, known := units[strings.ToLower(strings.TrimSpace(text[end:]))]
	f, err := strconv.ParseFloat(text[:end], 64)
	if err != nil || !known || text[end:] == "" && f != math.Trunc(f) {
		return 0, errors.New("want a whole number, with a unit if needed, such as 16K or 5s")
	}
	if n := f * unit / base; math.Abs(n) < math.MaxInt64 {
		return int64(n), nil
	}
	return 0, errors.New("too large")
}
