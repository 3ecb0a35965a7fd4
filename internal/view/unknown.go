package view

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/stack"
)

// maxReasons is how many reasons for not judging are listed.
const maxReasons = 6

// unknown lists what could not be judged: how many rules wait, for what, why,
// and what would help. Reasons with the same hint stand together above it.
func (c checkPage) unknown() {
	list := c.alike(c.r.Advice.Unknown)
	whole := c.gapGroups(c.r.Stack, ofHost(c.r.Stack.Gaps))
	if len(list) == 0 && len(whole) == 0 {
		return
	}
	c.blank()
	c.line(bold, "NOT VISIBLE: these could not be judged")
	c.gapList(c.r.Stack, c.facts, whole, 4)
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
			c.hang(plain, strings.Repeat(" ", reasonIndent)+"hint: ", hint)
		}
		list = slices.DeleteFunc(slices.Clone(list), func(u advise.Unknown) bool { return u.Hint == hint })
	}
	if left > 0 {
		c.para(dim, reasonIndent, "and "+count(left, "other reason")+": --all lists them")
	}
}

const reasonIndent = 15

// alike joins reasons that read the same once they are short, unless all is
// asked for.
func (c checkPage) alike(list []advise.Unknown) []advise.Unknown {
	if c.all {
		return list
	}
	var out []advise.Unknown
	for _, u := range list {
		u.Why = shortWhy(u.Why)
		i := slices.IndexFunc(out, func(o advise.Unknown) bool { return o.Why == u.Why && o.Hint == u.Hint })
		if i < 0 {
			out = append(out, u)
			continue
		}
		o := &out[i]
		o.Needs = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Needs, u.Needs))))
		o.Rules = slices.Compact(slices.Sorted(slices.Values(slices.Concat(o.Rules, u.Rules))))
	}
	return out
}

func (c checkPage) reason(u advise.Unknown) {
	text := u.Why
	if len(u.Needs) > 0 {
		text = c.needs(u.Needs) + ": " + u.Why
	}
	rules := fmt.Sprintf("    %3d rules  ", len(u.Rules))
	if len(u.Rules) == 1 {
		rules = "      1 rule   "
	}
	c.hang(plain, rules, text)
	if c.all {
		c.para(dim, reasonIndent, "facts: "+strings.Join(u.Needs, ", "))
		c.para(dim, reasonIndent, "rules: "+strings.Join(u.Rules, ", "))
	}
}

// needs sums up missing facts by the thing they belong to: "recordsize of
// tank/db", "48 facts of mysql:3306".
func (c checkPage) needs(list []string) string {
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
		what := fmt.Sprintf("%d facts", len(facts[t]))
		name := t
		if ref, err := stack.ParseRef(t); err == nil {
			name = thingName(c.r.Stack, ref)
			if len(facts[t]) == 1 {
				what = c.name(ref.Kind, facts[t][0])
			}
		}
		out = append(out, keep(what+" of "+name))
	}
	return few(out, 2)
}
