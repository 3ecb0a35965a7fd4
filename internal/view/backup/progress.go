package backup

import (
	"time"

	"plumb/internal/backup"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// Progress says how far a run is, in one line: what is through, of how much where that is known, how fast it goes, and in how many
// seconds the rest will be done.
func Progress(p backup.Progress, perSecond float64, left stats.Estimate) string {
	line := p.Stream + ": " + units.Measured(float64(p.Bytes))
	if p.Total > 0 {
		if p.About {
			line += " of about"
		} else {
			line += " of"
		}
		line += " " + units.Measured(float64(p.Total)) + ", " + units.RoundPercent(percent(p))
	}
	if units.IsReal(perSecond) {
		line += ", " + units.Measured(perSecond) + " a second"
	}
	if p.Total > p.Bytes {
		line += ", " + leftText(left)
	}
	return line
}

// percent is the whole percentage that is through: all of it only when it is.
func percent(p backup.Progress) float64 { return float64(100*p.Bytes/p.Total) / 100 }

// leftText is the time that is left, in the steps in which people plan.
func leftText(left stats.Estimate) string {
	const most = 1000 * time.Hour // more than that says that it nearly stands
	if !units.Ranged(left) || left.High > most.Seconds() {
		return "time left unknown"
	}
	low, high := units.Planned(seconds(left.Low)), units.Planned(seconds(left.High))
	switch {
	case low == high:
		return high + " left"
	case left.Low < left.High/10:
		return "up to " + high + " left"
	}
	return low + " to " + high + " left"
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Standing says that nothing has moved for a while.
func Standing(p backup.Progress, stood time.Duration) string {
	if p.Stream == "" {
		return "nothing has come yet for " + units.Span(stood)
	}
	return p.Stream + " has stood at " + units.Measured(float64(p.Bytes)) + " for " + units.Span(stood)
}
