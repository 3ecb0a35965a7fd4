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
	var out []string
	for _, n := range c.byThing(list) {
		what := n.facts[0]
		if len(n.facts) > 1 {
			what = fmt.Sprintf("%d facts", len(n.facts))
		}
		out = append(out, page.Keep(what+" of "+n.thing))
	}
	return units.Some(out, 2)
}

// need is what is missing of a thing, as people call both.
type need struct {
	thing string
	facts []string
}

// byThing puts missing facts such as "mysql:3306#sync_binlog" together by the thing they belong to.
func (c CheckPage) byThing(list []string) (needs []need) {
	for _, n := range list {
		thing, fact, _ := strings.Cut(n, "#")
		if ref, err := stack.ParseRef(thing); err == nil {
			thing, fact = picture.ThingName(c.r.Stack, ref), c.Name(ref.Kind, fact)
		}
		i := slices.IndexFunc(needs, func(o need) bool { return o.thing == thing })
		if i < 0 {
			i = len(needs)
			needs = append(needs, need{thing: thing})
		}
		needs[i].facts = append(needs[i].facts, fact)
	}
	return needs
}
