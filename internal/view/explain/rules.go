package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/coverage"
	"plumb/internal/rule"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// Rules lists rules with their harm and title, in columns where the screen is
// wide enough, and counts them by area.
func Rules(rules []*rule.Rule, screen page.Screen) string {
	p := page.NewPage(screen)
	ids := 0
	for _, r := range rules {
		ids = max(ids, page.Width(r.ID))
	}
	for _, r := range rules {
		head := page.Columns(r.ID, ids+2) + page.Columns(string(r.Harm), 8)
		if p.Width-page.Width(head) < 40 {
			p.Sides("", page.Bold, r.ID, page.Dim, string(r.Harm))
			p.Para(page.Normal, 4, blanks(r.Title))
			continue
		}
		p.Within(p.Width, page.Normal, head, page.Normal, blanks(r.Title))
	}
	if len(rules) > 1 {
		p.Blank()
		p.Hang(page.Normal, "by area  ", counts(rules, func(r *rule.Rule) string { a, _, _ := strings.Cut(r.ID, "/"); return a }))
		p.Hang(page.Normal, "by harm  ", counts(rules, func(r *rule.Rule) string { return string(r.Harm) }))
	}
	p.Hang(page.Dim, "", units.Count(len(rules), "rule")+" · plumb explain RULE explains one")
	return p.String()
}

// counts says how many rules there are of each kind, the most first.
func counts(rules []*rule.Rule, kind func(*rule.Rule) string) string {
	n := map[string]int{}
	for _, r := range rules {
		n[kind(r)]++
	}
	kinds := slices.SortedFunc(maps.Keys(n), func(a, b string) int { return cmp.Or(cmp.Compare(n[b], n[a]), cmp.Compare(a, b)) })
	for i, k := range kinds {
		kinds[i] = fmt.Sprintf("%s %d", k, n[k])
	}
	return strings.Join(kinds, " · ")
}

// RulesDocument lists rules as JSON v1. standings are theirs, in their order.
func RulesDocument(rules []*rule.Rule, standings []coverage.Standing, version string) RulesJSON {
	d := RulesJSON{Plumb: page.JSONVersion, Kind: "rules", Version: version, Rules: []RuleJSON{}}
	for i, r := range rules {
		one := RuleJSON{ID: r.ID, Harm: r.Harm, Gain: string(r.Gain), Basis: string(r.Basis), Title: r.Title,
			When: r.When, Explain: r.Explain, Versions: r.Versions, Layers: page.NotNil(r.Layers()), Seeds: page.NotNil(r.Seeds), Sources: page.NotNil(r.Sources),
			Range: map[string]string{}, Met: meetingsJSON(standings[i].Met)}
		for _, c := range r.Range {
			one.Range[c.Product] = c.Text
		}
		if r.Quote.Says != "" {
			one.Quote = &QuoteJSON{Says: r.Quote.Says, From: r.Quote.From}
		}
		if standings[i].Untested() {
			one.Needs = wanted(standings[i].Wants)
		}
		d.Rules = append(d.Rules, one)
	}
	return d
}

func meetingsJSON(list []coverage.Meeting) []MeetingJSON {
	out := make([]MeetingJSON, len(list))
	for i, m := range list {
		out[i] = MeetingJSON{On: make([]string, len(m.On)), Says: string(m.Says), Host: m.Host, Day: m.Day}
		for j, product := range m.On {
			out[i].On[j] = product.String()
		}
	}
	return out
}

// RuleTests writes what came of testing rules, and counts those with
// mistakes.
func RuleTests(tests []rule.Tested, screen page.Screen) (text string, wrong int) {
	p := page.NewPage(screen)
	examples := 0
	for _, t := range tests {
		examples += len(t.Examples)
		if len(t.Mistakes) > 0 {
			wrong++
		}
		for _, m := range t.Mistakes {
			p.Line(page.Normal, m.Error())
		}
	}
	p.Line(page.Normal, fmt.Sprintf("%s with %s, %d with mistakes", units.Count(len(tests), "rule"), units.Count(examples, "example"), wrong))
	return p.String(), wrong
}
