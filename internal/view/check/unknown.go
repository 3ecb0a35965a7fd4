package check

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// maxReasons is how many reasons for not judging are listed.
const maxReasons = 6

// unknown lists what could not be judged: how many rules wait, for what, why,
// and what would help. Reasons with the same hint stand together above it.
func (c CheckPage) unknown() {
	list := c.alike(c.r.Advice.Unknown)
	whole := picture.GapGroups(picture.OfHost(c.r.Stack.Gaps))
	if len(list) == 0 && len(whole) == 0 {
		return
	}
	c.Blank()
	c.Line(page.Bold, "NOT VISIBLE: these could not be judged")
	picture.GapList(c.Page, c.r.Stack, c.Facts, whole, 4)
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
			c.Hang(page.Normal, strings.Repeat(" ", reasonIndent)+"hint: ", hint)
		}
		list = slices.DeleteFunc(slices.Clone(list), func(u advise.Unknown) bool { return u.Hint == hint })
	}
	if left > 0 {
		c.Para(page.Dim, reasonIndent, "and "+units.Count(left, "other reason")+": --all lists them")
	}
}

const reasonIndent = 15

// alike joins reasons that read the same once they are short, unless all is
// asked for.
func (c CheckPage) alike(list []advise.Unknown) []advise.Unknown {
	if c.all {
		return list
	}
	var out []advise.Unknown
	for _, u := range list {
		u.Why = picture.ShortWhy(u.Why)
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

func (c CheckPage) reason(u advise.Unknown) {
	text := u.Why
	if len(u.Needs) > 0 {
		text = c.needs(u.Needs) + ": " + u.Why
	}
	rules := fmt.Sprintf("    %3d rules  ", len(u.Rules))
	if len(u.Rules) == 1 {
		rules = "      1 rule   "
	}
	c.Hang(page.Normal, rules, text)
	if c.all {
		c.Para(page.Dim, reasonIndent, "facts: "+strings.Join(u.Needs, ", "))
		c.Para(page.Dim, reasonIndent, "rules: "+strings.Join(u.Rules, ", "))
	}
}

// needs sums up missing facts by the thing they belong to: "recordsize of
// tank/db", "48 facts of mysql:3306".
func (c CheckPage) needs(list []string) string {
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
			name = picture.ThingName(c.r.Stack, ref)
			if len(facts[t]) == 1 {
				what = c.Name(ref.Kind, facts[t][0])
			}
		}
		out = append(out, page.Keep(what+" of "+name))
	}
	return units.Some(out, 2)
}
