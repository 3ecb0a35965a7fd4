package view

import (
	"fmt"

	"plumb/internal/rule"
)

// Rules lists rules with their harm and title.
func Rules(rules []*rule.Rule, screen Screen) string {
	p := newPage(screen)
	for _, r := range rules {
		p.sides("", bold, r.ID, dim, string(r.Harm))
		p.para(plain, 4, blanks(r.Title))
	}
	p.hang(dim, "", count(len(rules), "rule"))
	return p.String()
}

// RulesDocument lists rules as JSON v1.
func RulesDocument(rules []*rule.Rule, version string) RulesJSON {
	d := RulesJSON{Plumb: JSONVersion, Kind: "rules", Version: version, Rules: []RuleJSON{}}
	for _, r := range rules {
		d.Rules = append(d.Rules, RuleJSON{ID: r.ID, Harm: r.Harm, Gain: string(r.Gain), Basis: string(r.Basis), Title: r.Title,
			When: r.When, Explain: r.Explain, Versions: r.Versions, Layers: notNil(r.Layers()), Seeds: notNil(r.Seeds), Sources: notNil(r.Sources)})
	}
	return d
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
