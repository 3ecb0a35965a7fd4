package lab

import (
	"math"
	"slices"
	"strings"

	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// metricUnit says what the metric of an experiment is called in a table, and
// the unit of its values.
func metricUnit(metric string) (name, unit string) {
	switch metric {
	case "mean", "p50", "p95", "p99":
		return metric + " response", "ms"
	}
	return "operations", "/s"
}

// higherIsBetter tells which way the metric points.
func higherIsBetter(metric string) bool {
	_, unit := metricUnit(metric)
	return unit == "/s"
}

// valueRange writes a value with its interval, 5,263 (5,180 to 5,346), or
// what is known of it.
func valueRange(e stats.Estimate, show func(float64) string) string {
	switch {
	case !units.MeasuredAtAll(e):
		return "–"
	case !units.Ranged(e):
		return show(e.Value)
	}
	return show(e.Value) + " " + interval(e, show)
}

func interval(e stats.Estimate, show func(float64) string) string {
	if !units.Ranged(e) {
		return ""
	}
	return "(" + show(e.Low) + " to " + show(e.High) + ")"
}

// showMetric writes values of the experiment's metric, without a unit.
func showMetric(metric string) func(float64) string {
	if higherIsBetter(metric) {
		return units.PerSecond
	}
	return units.Digits3
}

// withUnit puts the unit of a metric behind a value: 5,263/s, 12.3 ms.
func withUnit(value, unit string) string {
	if strings.HasPrefix(unit, "/") {
		return value + unit
	}
	return value + " " + unit
}

// VerdictWords say a verdict in a few words.
func VerdictWords(v report.Comparison) string {
	switch v.Word {
	case report.Equivalent:
		return "equal within ±" + units.RoundPercent(v.Margin)
	case report.Undecided:
		if v.More > 0 {
			return "undecided: about " + units.Count(v.More, "more block")
		}
	}
	return v.Word
}

// verdictOf finds the comparison a table shows beside an arm: the first of
// which it is not the baseline.
func verdictOf(r report.Report, arm string) *report.Comparison {
	for i := range r.Verdicts {
		if r.Verdicts[i].Arm == arm {
			return &r.Verdicts[i]
		}
	}
	return nil
}

func isBaseline(r report.Report, arm string) bool {
	return slices.ContainsFunc(r.Verdicts, func(v report.Comparison) bool { return v.Baseline == arm })
}

// CostNumber writes what an operation cost: 286 µs, 12.3 KiB, 0.98.
func CostNumber(unit string) func(float64) string {
	switch unit {
	case "us/op":
		return func(v float64) string { return units.Spaced(v / 1000) }
	case "B/op", "B":
		return func(v float64) string {
			if !units.IsReal(v) || math.Abs(v) > 1<<60 {
				return "–"
			}
			return units.Measured(math.Round(v))
		}
	}
	return units.Digits3
}

// costTitle is the heading of a cost's column and what it is counted by.
func costTitle(c report.CostResult) (name, per string) {
	switch {
	case strings.HasSuffix(c.Unit, "/op"):
		return c.Name, "per operation"
	case c.Unit == "B":
		return c.Name, "in all"
	}
	return c.Name, "ratio"
}

// perThousand writes the stalled seconds in a thousand.
func perThousand(v float64) string {
	if !units.IsReal(v) {
		return "–"
	}
	if v == 0 {
		return "none"
	}
	return units.Digits3(v) + " ‰"
}

// msOf writes an estimated response time without its interval.
func msOf(e stats.Estimate) string {
	if !units.MeasuredAtAll(e) {
		return "–"
	}
	return units.Milliseconds(e.Value)
}
