package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/met"
	"plumb/internal/rule"
)

// Rules lists rules with their harm and title, in columns where the screen is
// wide enough, and counts them by area.
func Rules(rules []*rule.Rule, screen Screen) string {
	p := newPage(screen)
	ids := 0
	for _, r := range rules {
		ids = max(ids, width(r.ID))
	}
	for _, r := range rules {
		head := columns(r.ID, ids+2) + columns(string(r.Harm), 8)
		if p.width-width(head) < 40 {
			p.sides("", bold, r.ID, dim, string(r.Harm))
			p.para(plain, 4, blanks(r.Title))
			continue
		}
		p.within(p.width, plain, head, plain, blanks(r.Title))
	}
	if len(rules) > 1 {
		p.blank()
		p.hang(plain, "by area  ", counts(rules, func(r *rule.Rule) string { a, _, _ := strings.Cut(r.ID, "/"); return a }))
		p.hang(plain, "by harm  ", counts(rules, func(r *rule.Rule) string { return string(r.Harm) }))
	}
	p.hang(dim, "", count(len(rules), "rule")+" · plumb explain RULE says all there is to say of one")
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
func RulesDocument(rules []*rule.Rule, standings []met.Standing, version string) RulesJSON {
	d := RulesJSON{Plumb: JSONVersion, Kind: "rules", Version: version, Rules: []RuleJSON{}}
	for i, r := range rules {
		one := RuleJSON{ID: r.ID, Harm: r.Harm, Gain: string(r.Gain), Basis: string(r.Basis), Title: r.Title,
			When: r.When, Explain: r.Explain, Versions: r.Versions, Layers: notNil(r.Layers()), Seeds: notNil(r.Seeds), Sources: notNil(r.Sources),
			Range: map[string]string{}, Met: meetingsJSON(standings[i].Met)}
		for _, c := range r.Range {
			one.Range[c.Product] = c.Text
		}
		if r.Quote.Says != "" {
			one.Quote = &QuoteJSON{Says: r.Quote.Says, From: r.Quote.From}
		}
		if standings[i].Unmet() {
			one.Needs = wanted(standings[i].Wants)
		}
		d.Rules = append(d.Rules, one)
	}
	return d
}

func meetingsJSON(list []met.Meeting) []MeetingJSON {
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
func RuleTests(tests []rule.Tested, screen Screen) (text string, wrong int) {
	p := newPage(screen)
	examples := 0
	for _, t := range tests {
		examples += len(t.Examples)
		if len(t.Mistakes) > 0 {
			wrong++
		}
		for _, m := range t.Mistakes {
			p.line(plain, m.Error())
		}
	}
	p.line(plain, fmt.Sprintf("%s with %s, %d with mistakes", count(len(tests), "rule"), count(examples, "example"), wrong))
	return p.String(), wrong
}
