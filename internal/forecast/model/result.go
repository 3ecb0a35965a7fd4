package model

import (
	"fmt"

	"plumb/internal/forecast"
	"plumb/internal/stats"
)

// Units of values. A date is in seconds since 1970.
const (
	Bytes     = "bytes"
	PerSecond = "per second"
	Seconds   = "seconds"
	Part      = "part" // of one
	Dollars   = "USD a month"
	Date      = "date"
	Count     = "" // of things that the name says
)

// Result is what a model says, or why it says nothing.
type Result struct {
	Model       string
	Values      []Value
	Assumptions []string // what must be as it was, in sentences for people
	Rivals      []Rival  // the ways that were compared, the model's own among them
	Warnings    []string // reasons to doubt it
	Refusal     *forecast.Refusal
}

// Value is one number of a forecast, with its range: docs/forecast.md says what that of each model is.
type Value struct {
	Name string
	Unit string
	stats.Estimate
	How string // the sum that gives it, with its numbers
}

// Rival is one way to forecast the same.
type Rival struct {
	Name   string
	Value  float64 // what it says
	Error  float64 // root mean square of its relative errors where it had to foretell what was measured
	Weight float64 // its part in the forecast
}

// refused is a result without values.
func refused(measure, format string, args ...any) Result {
	return Result{Refusal: &forecast.Refusal{Why: fmt.Sprintf(format, args...), Measure: measure}}
}

// response is the time that each of some clients waits for an answer, by the rate of all of them.
func response(clients int, rate stats.Estimate, how string) Value {
	n := float64(clients)
	return Value{Name: "response", Unit: Seconds, Estimate: stats.Estimate{Value: n / rate.Value, Low: n / rate.High, High: n / rate.Low, N: rate.N}, How: how}
}

// within is a number with a relative doubt to both sides.
func within(v, part float64) stats.Estimate {
	return stats.Estimate{Value: v, Low: v / (1 + part), High: v * (1 + part)}
}

// between is a number of which a lowest and a highest value are known.
func between(v, low, high float64) stats.Estimate {
	return stats.Estimate{Value: v, Low: min(low, v), High: max(high, v)}
}
