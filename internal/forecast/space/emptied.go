package space

import (
	"fmt"
	"slices"

	"plumb/internal/forecast"
	"plumb/internal/units"
)

// What is meant to leave again stays where nothing removes it: a setting keeps logs for good, a replica for which they are kept
// is gone. Then it grows as data does, and the levels that it had while it was emptied say nothing of it.

// stillEmptied looks whether what is bounded leaves again as before. What does not is no longer bounded, and what was before
// something was removed from it for the last time is the past of another thing.
func stillEmptied(s forecast.Series, ask Ask) Ask {
	if !ask.Bounded {
		return ask
	}
	s, _ = sinceLast(s, ask.Changes) // after a setting was changed it may be emptied less often
	from, rises := rise(s.Days)
	if !rises {
		return ask
	}
	ask.Bounded = false
	ask.Read = append(slices.Clone(ask.Read), fmt.Sprintf("nothing was removed from it in the last %s: it is assumed to keep growing", units.Count(apart(s.Days[from], s.Last()), "day")))
	if from > 0 {
		ask.Changes = append(slices.Clone(ask.Changes), Change{At: s.Days[from].Date, What: "something was removed from it for the last time"})
	}
	return ask
}

// longerThan is how many times longer than ever before it rises where nothing empties it any more.
const longerThan = 2

// rise tells since which day something has not fallen, and whether it rises so for longer than what is emptied does. That is
// a week at least: what changes by chance falls more often than that.
func rise(days []forecast.Day) (from int, rises bool) {
	if len(days) == 0 {
		return 0, false
	}
	longest, last := 0, days[len(days)-1]
	for i := 1; i < len(days); i++ {
		if days[i].Value < days[i-1].Value {
			longest, from = max(longest, apart(days[from], days[i])), i
		}
	}
	lasted := apart(days[from], last)
	return from, lasted >= week && lasted > longerThan*longest && last.Value > days[from].Value
}

// apart is how many days lie between two.
func apart(a, b forecast.Day) int { return int(b.Date.Sub(a.Date) / aDay) }
