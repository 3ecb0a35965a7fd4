package view

import (
	"fmt"
	"time"

	"plumb/internal/load"
)

// LoadLine gives what writes one line for each interval of a run, with one
// percentile of choice.
func LoadLine(percentile int) func(load.Second) string {
	y := Sysbench{Percentile: percentile}
	return func(s load.Second) string {
		at := func(n int64) string { return perSecond(float64(n) / max(s.Length.Seconds(), 1e-9)) }
		text := right(fmt.Sprintf("%.0f s", s.At.Seconds()), 7) + right(at(s.Done)+"/s", 12) +
			"  p50" + right(latencyOf(s.Response.P50, s.Response.N), 8) +
			fmt.Sprintf("  p%d", percentile) + right(latencyOf(time.Duration(y.shown(s)*float64(time.Millisecond)), s.Response.N), 8) +
			"  max" + right(latencyOf(s.Response.Max, s.Response.N), 8)
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
		return clean(text) + "\n"
	}
}

// LoadProgress is the line that rewrites itself while a run lasts.
func LoadProgress(s load.Second, limit time.Duration) string {
	phase, of := "measuring", ""
	if s.Warmup {
		phase = "warming up"
	} else if limit > 0 {
		of = fmt.Sprintf(" of %.0f", limit.Seconds())
	}
	text := fmt.Sprintf("%s  %.0f%s s  %s/s  p95 %s", phase, s.At.Seconds(), of, perSecond(float64(s.Done)/max(s.Length.Seconds(), 1e-9)),
		latencyOf(s.Response.P95, s.Response.N))
	if s.Failed+s.Retried > 0 {
		text += fmt.Sprintf("  failed %d, retried %d", s.Failed, s.Retried)
	}
	if s.Waiting > 0 {
		text += fmt.Sprintf("  waiting %d", s.Waiting)
	}
	return clean(text)
}
