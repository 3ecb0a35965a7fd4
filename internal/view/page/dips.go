package page

import (
	"fmt"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// Dips says that a rate falls again and again: how often and how long, in seconds, and how deep.
func Dips(every, length, depth stats.Estimate, count int) string {
	return fmt.Sprintf("every %s the rate falls by %s (%s to %s %%), for %s: %s", secondsOf(every),
		units.Percent(depth.Value), units.PercentDigits(depth.Low), units.PercentDigits(depth.High), secondsOf(length), units.Count(count, "dip"))
}

// secondsOf writes seconds with their interval: 15.0 s (14.5 to 15.5).
func secondsOf(e stats.Estimate) string {
	return fmt.Sprintf("%s s (%s to %s)", units.Digits3(e.Value), units.Digits3(e.Low), units.Digits3(e.High))
}
