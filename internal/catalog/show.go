package catalog

import (
	"strconv"

	"plumb/internal/stack"
	"plumb/internal/units"
)

// Show writes a fact's value for people, with its unit: 16K, 1.5G, 5 s, 93 %,
// 3000/s, on. A nil fact shows the bare value.
func Show(f *Fact, v stack.Value) string {
	if f == nil {
		return ShowAs("", v)
	}
	if n, ok := v.Int(); ok && f.Type == Seconds && f.Knob == nil {
		return units.Age(n)
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
		return units.Bytes(n)
	case t == Bytes && isNumber:
		return units.Measured(x) // a mean
	case isNumber && (t == Millis || t == Micros || t == Seconds):
		return units.Time(x * map[Type]float64{Micros: 1, Millis: 1e3, Seconds: 1e6}[t])
	case t == Percent && isNumber:
		return units.Number(x) + " %"
	case t == Ratio && isNumber:
		return units.Number(x*100) + " %"
	case t == Rate && isNumber && x >= 1000:
		return units.PerSecond(x) + "/s" // with commas
	case t == Rate && isNumber:
		return units.Number(x) + "/s"
	case isInt:
		return strconv.FormatInt(n, 10)
	case isNumber:
		return units.Number(x)
	}
	if s, ok := v.Text(); ok && s == "" {
		return `""`
	}
	return v.String()
}
