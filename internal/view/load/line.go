package load

import (
	"fmt"
	"time"

	"plumb/internal/load"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Line gives what writes one line for each interval of a run, with one
// percentile of choice.
func Line(percentile int) func(load.Second) string {
	y := Sysbench{Percentile: percentile}
	return func(s load.Second) string {
		at := func(n int64) string { return units.PerSecond(float64(n) / max(s.Length.Seconds(), 1e-9)) }
		text := page.Right(units.Span(s.At.Round(time.Second)), 7) + page.Right(at(s.Done)+"/s", 12) +
			"  p50" + page.Right(units.LatencyOf(s.Response.P50, s.Response.N), 8) +
			fmt.Sprintf("  p%d", percentile) + page.Right(units.LatencyOf(time.Duration(y.shown(s)*float64(time.Millisecond)), s.Response.N), 8) +
			"  max" + page.Right(units.LatencyOf(s.Response.Max, s.Response.N), 8)
		if s.Failed+s.Retried > 0 {
			text += fmt.Sprintf("  failed %d, retried %d", s.Failed, s.Retried)
		}
		if s.Lost > 0 {
			text += fmt.Sprintf("  lost %d", s.Lost)
		}
		if s.Waiting > 0 {
			text += fmt.Sprintf("  waiting %d", s.Waiting)
		}
		if s.Warmup {
			text += "  (warm-up)"
		}
		return page.Clean(text) + "\n"
	}
}

// Progress is the line that rewrites itself while a run lasts.
func Progress(s load.Second, limit time.Duration) string {
	phase, of := "measuring", ""
	if s.Warmup {
		phase = "warming up"
	} else if limit > 0 {
		of = fmt.Sprintf(" of %.0f", limit.Seconds())
	}
	text := fmt.Sprintf("%s  %.0f%s s  %s/s  p95 %s", phase, s.At.Seconds(), of, units.PerSecond(float64(s.Done)/max(s.Length.Seconds(), 1e-9)),
		units.LatencyOf(s.Response.P95, s.Response.N))
	if s.Failed+s.Retried > 0 {
		text += fmt.Sprintf("  failed %d, retried %d", s.Failed, s.Retried)
	}
	if s.Waiting > 0 {
		text += fmt.Sprintf("  waiting %d", s.Waiting)
	}
	return page.Clean(text)
}
