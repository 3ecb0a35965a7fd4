package load

import (
	"fmt"
	"time"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// met reports whether the last window of a series is steady.
func (s SteadyRule) met(lines []Second) bool {
	rates := make([]float64, len(lines))
	for i, l := range lines {
		rates[i] = float64(l.Done) / l.Length.Seconds()
	}
	window := max(int(s.Window/time.Second), 2)
	if len(rates) < window {
		return false
	}
	return stats.Steady(rates[len(rates)-window:], window, s.Range, s.Slope).Reached
}

// steadiness judges the measured part by the usual rule. Seconds begin at
// warmup after the start.
func steadiness(rates []float64, warmup time.Duration) Steadiness {
	window := min(int(defaultSteady.Window/time.Second), len(rates)/3)
	if window < 5 {
		return Steadiness{Why: units.Counted(len(rates), "second", "is", "are") + " too few to tell"}
	}
	found := stats.Steady(rates, window, defaultSteady.Range, defaultSteady.Slope)
	s := Steadiness{Reached: found.Reached, Range: found.Range, Slope: found.Slope}
	if s.Reached {
		s.From = warmup + time.Duration(found.From)*time.Second
		return s
	}
	s.Why = fmt.Sprintf("over the last %s it ranged over %.0f %% of its mean (steady: %.0f %%) and its trend moved by %.0f %% (steady: %.0f %%)",
		units.Span(time.Duration(window)*time.Second), 100*s.Range, 100*defaultSteady.Range, 100*s.Slope, 100*defaultSteady.Slope)
	return s
}
