package space

import (
	"fmt"
	"slices"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/units"
)

// sound leaves out the readings that failed, and says so; where there is almost nothing, or was, from then on it is
// another thing. What leaves again as it was meant to can be nothing on any day.
func sound(s forecast.Series, ask Ask) (forecast.Series, Ask) {
	if ask.Bounded {
		return s, ask
	}
	found := s.Sound()
	if len(found.Failed) > 0 {
		ask.Read = append(slices.Clone(ask.Read), notRead(found.Failed))
	}
	if !found.To.Date.IsZero() {
		word, why := "rose", ""
		if found.To.Value < found.From.Value {
			word, why = "fell", " (emptied, in another unit, or not read?)"
		}
		ask.Changes = append(slices.Clone(ask.Changes), Change{At: found.To.Date,
			What: fmt.Sprintf("it %s from %s to %s%s", word, units.Measured(found.From.Value), units.Measured(found.To.Value), why)})
	}
	return found.Series, ask
}

// notRead says which readings are left out.
func notRead(failed []forecast.Day) string {
	day := func(d forecast.Day) string { return d.Date.Format(time.DateOnly) }
	first, last := failed[0], failed[len(failed)-1]
	what := fmt.Sprintf("%s on %s is", units.Measured(first.Value), day(first))
	if len(failed) > 1 {
		what = fmt.Sprintf("%s of almost nothing from %s to %s are", units.Count(len(failed), "reading"), day(first), day(last))
	}
	return what + " left out because the reading failed: before and after, it was as much as ever"
}
