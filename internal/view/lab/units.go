package lab

import (
	"math"
	"strconv"
	"strings"
	"time"

	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/view/page"
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
	case !page.MeasuredAtAll(e):
		return "–"
	case !page.Ranged(e):
		return show(e.Value)
	}
	return show(e.Value) + " " + interval(e, show)
}

func interval(e stats.Estimate, show func(float64) string) string {
	if !page.Ranged(e) {
		return ""
	}
	return "(" + show(e.Low) + " to " + show(e.High) + ")"
}

// showMetric writes values of the experiment's metric, without a unit.
func showMetric(metric string) func(float64) string {
	if higherIsBetter(metric) {
		return page.PerSecond
	}
	return page.Digits3
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
		return "equal within ±" + page.RoundPercent(v.Margin)
	case report.Undecided:
		if v.More > 0 {
			return "undecided: about " + page.Count(v.More, "more block")
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
	for _, v := range r.Verdicts {
		if v.Baseline == arm {
			return true
		}
	}
	return false
}

// milliseconds writes a time given in ms with its unit.
func milliseconds(ms float64) string {
	if !page.IsReal(ms) || ms < 0 || ms > 1e11 {
		return "–"
	}
	return page.Latency(time.Duration(ms * float64(time.Millisecond)))
}

// CostNumber writes what an operation cost: 286 us, 12.3 KiB, 0.98.
func CostNumber(unit string) func(float64) string {
	switch unit {
	case "us/op":
		return func(v float64) string { return spacedMS(v / 1000) }
	case "B/op", "B":
		return func(v float64) string {
			if !page.IsReal(v) || math.Abs(v) > 1<<60 {
				return "–"
			}
			return page.BytesAbout(int64(math.Round(v)))
		}
	}
	return page.Digits3
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
	if !page.IsReal(v) {
		return "–"
	}
	if v == 0 {
		return "none"
	}
	return page.Digits3(v) + " ‰"
}

// atMost cuts s to n columns.
func atMost(s string, n int) string {
	if page.Width(s) <= n {
		return s
	}
	return string([]rune(s)[:max(0, n-1)]) + "…"
}

// msOf writes an estimated response time without its interval.
func msOf(e stats.Estimate) string {
	if !page.MeasuredAtAll(e) {
		return "–"
	}
	return milliseconds(e.Value)
}

// DigitsShort writes a round number without noughts after the point.
func DigitsShort(v float64) string {
	return strconv.FormatFloat(math.Round(1e6*v)/1e6, 'f', -1, 64)
}

// spacedMS is milliseconds with a space before the unit, as it is set on
// paper: 1.23 ms. Beyond 100 s it stays 12m5s.
func spacedMS(ms float64) string {
	text := milliseconds(ms)
	number := strings.TrimRight(text, "nµms")
	if _, err := strconv.ParseFloat(number, 64); err != nil || ms >= 100_000 {
		return text
	}
	return number + "\u00a0" + text[len(number):]
}

// roundMS writes a time that is a tick of an axis: 1 ms, 500 µs, 10 s.
func roundMS(ms float64) string {
	for _, u := range []struct {
		name string
		per  float64
	}{{"s", 1000}, {"ms", 1}, {"µs", 0.001}} {
		if ms >= u.per*0.999 {
			return DigitsShort(ms/u.per) + "\u00a0" + u.name
		}
	}
	return DigitsShort(ms*1e6) + "\u00a0ns"
}
