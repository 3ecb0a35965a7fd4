package view

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
)

// maxReasons is how many reasons for not judging are listed.
const maxReasons = 6

// unknown lists what could not be judged, and what would help: reasons with
// the same hint stand together above it.
func (c checkPage) unknown() {
	list := c.r.Advice.Unknown
	if len(list) == 0 {
		return
	}
	c.blank()
	c.line(bold, "NOT VISIBLE: these rules could not be judged")
	left := len(list)
	if !c.all {
		list = list[:min(maxReasons, len(list))]
	}
	left -= len(list)
	for len(list) > 0 {
		hint := list[0].Hint
		for _, u := range list {
			if u.Hint == hint {
				c.reason(u)
			}
		}
		if hint != "" {
			c.hang(plain, "      hint: ", hint)
		}
		list = slices.DeleteFunc(slices.Clone(list), func(u advise.Unknown) bool { return u.Hint == hint })
	}
	if left > 0 {
		c.para(dim, 4, "and "+count(left, "other reason")+": --all lists them")
	}
}

func (c checkPage) reason(u advise.Unknown) {
	verb := "need"
	if len(u.Rules) == 1 {
		verb = "needs"
	}
	text := count(len(u.Rules), "rule")
	if len(u.Needs) > 0 {
		text += " " + verb + " " + needs(u.Needs)
	}
	c.para(plain, 4, text+": "+u.Why)
	if c.all {
		c.para(dim, 6, "facts: "+strings.Join(u.Needs, ", "))
		c.para(dim, 6, "rules: "+strings.Join(u.Rules, ", "))
	}
}

// needs sums up missing facts by the thing they belong to: "recordsize of
// dataset:tank/db", "48 facts of mysql:3306".
func needs(list []string) string {
	var things []string
	facts := map[string][]string{}
	for _, n := range list {
		thing, fact, _ := strings.Cut(n, "#")
		if facts[thing] == nil {
			things = append(things, thing)
		}
		facts[thing] = append(facts[thing], fact)
	}
	var out []string
	for _, t := range things {
		what := strings.Join(facts[t], ", ")
		if len(facts[t]) > 2 {
			what = fmt.Sprintf("%d facts", len(facts[t]))
		}
		out = append(out, what+" of "+t)
	}
	return few(out, 3)
}
