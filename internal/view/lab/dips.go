package lab

import (
	"fmt"

	"plumb/internal/lab/report"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// DipSentences say of which arms the rate falls again and again.
func DipSentences(r report.Report) (all []string) {
	for _, a := range r.Arms {
		d := a.Dips
		if d == nil {
			continue
		}
		all = append(all, fmt.Sprintf("%s: every %s the rate falls by %s (%s to %s %%), for %s: %s.", a.Name, secondsOf(d.Every),
			units.Percent(d.Depth.Value), units.PercentDigits(d.Depth.Low), units.PercentDigits(d.Depth.High), secondsOf(d.Length), units.Count(d.N, "dip")))
	}
	return all
}

// secondsOf writes seconds with their interval: 15.0 s (14.5 to 15.5).
func secondsOf(e stats.Estimate) string {
	return fmt.Sprintf("%s s (%s to %s)", units.Digits3(e.Value), units.Digits3(e.Low), units.Digits3(e.High))
}
