package forecast

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Text writes forecasts for people.
func Text(all []space.Result, from string, screen page.Screen) string {
	p := page.NewPage(screen)
	head := "Space, from " + from + "."
	if slices.ContainsFunc(all, func(r space.Result) bool { return r.Refusal == nil }) {
		head += " Of 100 futures, 80 are within the range of 80 %, and 95 within that of 95 %."
	}
	p.Para(page.Normal, 0, head)
	for _, r := range all {
		p.Blank()
		one(p, r)
	}
	return p.String()
}

func one(p *page.Page, r space.Result) {
	p.Line(page.Bold, r.Quantity.Of+"  "+r.Quantity.Name)
	if now := nowWords(r); now != "" {
		p.Hang(page.Normal, "  now    ", now)
	}
	if r.Refusal != nil {
		p.Hang(page.Yellow, "  refused  ", sentence(r.Refusal.Why))
		p.Hang(page.Normal, "  measure  ", sentence(r.Refusal.Measure))
		return
	}
	last := r.Points[len(r.Points)-1]
	p.Hang(page.Normal, "  then   ", fmt.Sprintf("%s on %s, in %s; %s to %s with 80 %%, %s to %s with 95 %%", estimated(last.Value[2]), day(last.Date), units.Count(r.Horizon, "day"),
		estimated(last.Value[1]), estimated(last.Value[3]), estimated(last.Value[0]), estimated(last.Value[4])))
	if r.Full != nil {
		p.Hang(fullInk(r.Full), "  full   ", fullWords(r))
	}
	p.Hang(page.Dim, "  rests  ", fmt.Sprintf("on %s; %s", units.Count(r.History, "day"), strings.Join(r.Assumptions, "; ")))
	if len(r.Rivals) > 0 {
		p.Hang(page.Dim, "  ways   ", waysWords(r.Rivals))
	}
}

// estimated writes bytes that were read or forecast, so that the ends of a range differ: 1.73T, where size has one digit less.
func estimated(v float64) string {
	if text := units.Measured(v); v >= 1<<20 && text[1] == '.' {
		return text
	}
	return units.Size(v)
}

func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:] + "."
}

// nowWords says what is taken on the last day that is known; "" where none is.
func nowWords(r space.Result) string {
	n := len(r.Past)
	if n == 0 {
		return ""
	}
	of, unknown := "", "; how much fits is not known (--limit)"
	if r.Limit != nil {
		of, unknown = " of "+units.Size(r.Limit.Bytes), ""
	}
	return estimated(r.Past[n-1].Value) + of + " on " + day(r.Past[n-1].Date) + unknown
}

func fullInk(f *space.Full) page.Ink {
	if f.Chance >= 0.5 {
		return page.Yellow
	}
	return page.Normal
}

// fullWords says by when it is full.
func fullWords(r space.Result) string {
	f, by := r.Full, day(r.Points[len(r.Points)-1].Date)
	if f.Dates[2] != nil && !f.Dates[2].After(r.Made) {
		return "it is full"
	}
	if f.Chance == 0 {
		return "not by " + by + " in any of the futures"
	}
	words := []string{}
	for i, name := range []string{"10", "50", "90"} {
		if f.Dates[i] != nil {
			words = append(words, fmt.Sprintf("in %s %% of futures by %s", name, day(*f.Dates[i])))
		}
	}
	words = append(words, fmt.Sprintf("in %s of futures by %s", chance(f.Chance), by))
	return strings.Join(words, ", ")
}

// chance never says that what was seen in no future cannot be, nor the reverse.
func chance(part float64) string {
	switch {
	case part >= 0.995:
		return "more than 99 %"
	case part < 0.01:
		return "less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", 100*part)
}

// leastPart is the part from which a way is said to have one: below it is 0 %.
const leastPart = 0.005

// waysWords names the ways that have a part, the greatest first, and the best naive one.
func waysWords(ways []forecast.Rival) string {
	if ways[0].Loss == nil {
		return "several with equal weight: the past is too short to say which is best"
	}
	sorted := slices.Clone(ways)
	slices.SortStableFunc(sorted, func(a, b forecast.Rival) int { return cmp.Compare(b.Weight, a.Weight) })
	var words []string
	for _, w := range sorted {
		if w.Weight >= leastPart {
			words = append(words, fmt.Sprintf("%s %.0f %%", w.Name, 100*w.Weight))
		}
	}
	best := slices.MinFunc(ways, func(a, b forecast.Rival) int { return cmp.Compare(*a.Loss, *b.Loss) })
	return fmt.Sprintf("%s; on earlier days %s did best", strings.Join(words, ", "), best.Name)
}
