package watch

import (
	"fmt"
	"strings"
	"time"

	"plumb/internal/hint"
)

// Forms of a moment on the command line: each with or without a date, seconds and a
// time zone.
var (
	dayForms  = []string{"2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02T15:04:05", "2006-01-02T15:04"}
	hourForms = []string{"15:04:05", "15:04"}
	zoneForms = []string{" -0700", " -07:00", "-07:00", " Z07:00", "Z07:00"}
)

const momentHelp = `use a time such as 03:12, "03:12 UTC", "2026-10-25 03:12", "2026-10-25 02:30 +0100" or 2026-10-25T01:30Z`

// parseMoment parses the moment that a flag was given. Without a date it is the latest one
// in the past; without a time zone it is in that of the place.
func parseMoment(name, text string, now time.Time, place *time.Location) (time.Time, error) {
	for _, form := range dayForms {
		if zoned, ok := withZone(form, text); ok {
			return zoned.UTC(), nil
		}
		if wall, err := time.Parse(form, text); err == nil {
			return onTheClock(name, text, wall, place)
		}
	}
	if text == "now" {
		return now.UTC(), nil
	}
	for _, form := range hourForms {
		if zoned, ok := withZone(form, text); ok {
			_, offset := zoned.Zone()
			return latest(name, text, zoned, now, time.FixedZone("", offset))
		}
		if wall, err := time.Parse(form, text); err == nil {
			return latest(name, text, wall, now, place)
		}
	}
	return time.Time{}, hint.Usage(fmt.Sprintf("--%s %q is not a time", name, text), momentHelp)
}

func withZone(form, text string) (t time.Time, ok bool) {
	for _, zone := range zoneForms {
		if t, err := time.Parse(form+zone, text); err == nil {
			return t, true
		}
	}
	for _, utc := range []string{" UTC", " GMT"} {
		if before, found := strings.CutSuffix(text, utc); found {
			t, err := time.Parse(form, before)
			return t, err == nil
		}
	}
	return time.Time{}, false
}

// latest returns the latest moment in the past at which a clock showed a time of day.
func latest(name, text string, hour, now time.Time, place *time.Location) (time.Time, error) {
	local := now.In(place)
	for back := range 3 {
		wall := time.Date(local.Year(), local.Month(), local.Day()-back, hour.Hour(), hour.Minute(), hour.Second(), 0, time.UTC)
		all := instants(wall, place)
		if len(all) == 0 && back == 0 && wall.After(time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), local.Second(), 0, time.UTC)) {
			continue // clocks will skip this time later today: it means a day before
		}
		if len(all) > 0 && all[0].After(now) {
			continue
		}
		if len(all) == 2 && all[1].After(now) {
			return all[0].UTC(), nil // clocks show this time twice, and the second is still to come
		}
		return onTheClock(name, text, wall, place)
	}
	return time.Time{}, hint.Usage(fmt.Sprintf("--%s %q was not in the last days", name, text), momentHelp)
}

// onTheClock returns the moment at which a clock of the place showed a date and
// time. It is an error if there are two, as clocks were set back, or none, as they were set forward.
func onTheClock(name, text string, wall time.Time, place *time.Location) (time.Time, error) {
	switch all := instants(wall, place); len(all) {
	case 1:
		return all[0].UTC(), nil
	case 0:
		return time.Time{}, hint.Usage(fmt.Sprintf("--%s %q does not exist in %s: clocks were set forward over it", name, text, zone(place)), "name another hour, or give the offset: "+wall.Format("2006-01-02 15:04")+" +0000")
	default:
		const form = "2006-01-02 15:04 -0700"
		return time.Time{}, hint.Usage(fmt.Sprintf("--%s %q occurred twice in %s: clocks were set back", name, text, zone(place)),
			fmt.Sprintf("use --%s %q for the first, --%s %q for the second", name, all[0].Format(form), name, all[1].Format(form)))
	}
}

// zone is the name of a time zone. Go knows the name of the machine's own only from $TZ.
func zone(place *time.Location) string {
	if name := place.String(); name != "Local" {
		return name
	}
	return "this machine's time zone"
}

// instants returns the moments at which a clock of the place shows what wall
// shows in UTC. When clocks are set, it is by three hours at most.
func instants(wall time.Time, place *time.Location) (all []time.Time) {
	seen := map[int]bool{}
	for _, near := range []time.Duration{-26 * time.Hour, 0, 26 * time.Hour} {
		_, offset := wall.Add(near).In(place).Zone()
		t := wall.Add(-time.Duration(offset) * time.Second).In(place)
		if _, really := t.Zone(); really == offset && !seen[offset] {
			seen[offset] = true
			all = append(all, t)
		}
	}
	if len(all) == 2 && all[1].Before(all[0]) {
		all[0], all[1] = all[1], all[0]
	}
	return all
}
