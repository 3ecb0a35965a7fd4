package keep

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
)

// Rules say how many points stay. All that any of them keeps stays.
type Rules struct {
	Last     int // the newest
	Hours    int // one for each of so many hours that have points
	Days     int
	Weeks    int // from Monday on
	Months   int
	Years    int
	Verified int // the newest that are proven
}

// Help is how rules are written.
const Help = "use terms such as last=3,24h,7d,4w,12m,2y,verified=2"

// most is the largest number of a term: enough for an hour in eleven years.
const most = 100_000

// period is a unit of time of which one point is kept.
type period struct {
	unit, one string
	count     func(*Rules) *int
	start     func(time.Time) time.Time // of the period that holds a moment, which is in UTC
}

func periods() []period {
	day := func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC) }
	return []period{
		{"h", "hour", func(r *Rules) *int { return &r.Hours }, func(t time.Time) time.Time { return day(t).Add(time.Duration(t.Hour()) * time.Hour) }},
		{"d", "day", func(r *Rules) *int { return &r.Days }, day},
		{"w", "week", func(r *Rules) *int { return &r.Weeks }, func(t time.Time) time.Time { return day(t).AddDate(0, 0, -(int(t.Weekday())+6)%7) }},
		{"m", "month", func(r *Rules) *int { return &r.Months }, func(t time.Time) time.Time { return time.Date(t.Year(), t.Month(), 1, 0, 0, 0, 0, time.UTC) }},
		{"y", "year", func(r *Rules) *int { return &r.Years }, func(t time.Time) time.Time { return time.Date(t.Year(), 1, 1, 0, 0, 0, 0, time.UTC) }},
	}
}

// named are the terms with a name.
var named = []string{"last", "verified"}

// Parse reads rules as people write them.
func Parse(text string) (Rules, error) {
	var r Rules
	if strings.TrimSpace(text) == "" {
		return r, hint.Usage("keep: nothing says which points to keep", Help)
	}
	for term := range strings.SplitSeq(text, ",") {
		if err := r.add(strings.TrimSpace(term)); err != nil {
			return Rules{}, err
		}
	}
	return r, nil
}

// add reads one term.
func (r *Rules) add(term string) error {
	bad := func(why, help string) error {
		return hint.Usage(fmt.Sprintf("keep: the term %q %s", term, why), help)
	}
	if term == "" {
		return hint.Usage("keep: there is an empty term", Help)
	}
	number, count := "", (*int)(nil)
	if name, n, ok := strings.Cut(term, "="); ok {
		if count, number = r.named(name), n; count == nil {
			help := hint.Meant(name, named)
			if help == "" {
				help = Help
			}
			return bad(fmt.Sprintf("keeps no known thing: %q", name), help)
		}
	} else {
		for _, p := range periods() {
			if n, ok := strings.CutSuffix(term, p.unit); ok {
				number, count = n, p.count(r)
			}
		}
	}
	if count == nil {
		if _, err := strconv.Atoi(term); err == nil {
			return bad("has no unit", fmt.Sprintf("last=%s keeps the newest %s, %sd one for each of %s days", term, term, term, term))
		}
		return bad("has no unit that is known", "h, d, w, m (months) or y; "+Help)
	}
	n, err := strconv.Atoi(number)
	switch {
	case err != nil || number[0] == '+':
		return bad("has no whole number", Help)
	case n < 1:
		return bad("keeps nothing", "leave it out")
	case n > most:
		return bad("is too large", fmt.Sprintf("%d is the most", most))
	case *count != 0:
		return bad("is there twice", "give each unit once")
	}
	*count = n
	return nil
}

func (r *Rules) named(name string) *int {
	switch name {
	case "last":
		return &r.Last
	case "verified":
		return &r.Verified
	}
	return nil
}

// Reach is how old something becomes that rules keep for a time: 12m for a year. Rules that only count have none.
func (r Rules) Reach() time.Duration {
	const day = 24 * time.Hour
	return max(time.Duration(r.Hours)*time.Hour, time.Duration(r.Days)*day, time.Duration(r.Weeks)*7*day, time.Duration(r.Months)*30*day, time.Duration(r.Years)*365*day)
}

// String writes rules as they are typed.
func (r Rules) String() string {
	var terms []string
	if r.Last > 0 {
		terms = append(terms, "last="+strconv.Itoa(r.Last))
	}
	for _, p := range periods() {
		if n := *p.count(&r); n > 0 {
			terms = append(terms, strconv.Itoa(n)+p.unit)
		}
	}
	if r.Verified > 0 {
		terms = append(terms, "verified="+strconv.Itoa(r.Verified))
	}
	return strings.Join(slices.Clip(terms), ",")
}

// MarshalText writes rules into files as they are typed.
func (r Rules) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads them back; nothing is no rules.
func (r *Rules) UnmarshalText(text []byte) (err error) {
	if *r = (Rules{}); len(text) > 0 {
		*r, err = Parse(string(text))
	}
	return err
}
