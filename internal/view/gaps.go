package view

import (
	"slices"
	"strings"

	"plumb/internal/stack"
)

// maxGaps bounds the list of what could not be seen: after that the count is
// enough, and --json has them all.
const maxGaps = 12

// gaps lists what could not be seen, why, and what would help. Gaps with the
// same reason are one line.
func (p *page) gaps(gaps []stack.Gap) {
	if len(gaps) == 0 {
		return
	}
	p.blank()
	p.line(bold, "NOT VISIBLE")
	type group struct {
		why, hint string
		of        []string
	}
	var groups []group
	for _, g := range gaps {
		i := slices.IndexFunc(groups, func(o group) bool { return o.why == g.Why && o.hint == g.Hint })
		if i < 0 {
			i = len(groups)
			groups = append(groups, group{why: g.Why, hint: g.Hint})
		}
		if w := gapWhat(g); w != "" && !slices.Contains(groups[i].of, w) {
			groups[i].of = append(groups[i].of, w)
		}
	}
	for i, g := range groups {
		if i == maxGaps {
			p.para(dim, 4, "and "+count(len(groups)-maxGaps, "other reason")+": plumb check --json lists all")
			return
		}
		text := g.why
		if len(g.of) > 0 {
			text = few(g.of, 3) + ": " + g.why
		}
		p.para(plain, 4, text)
		if g.hint != "" {
			p.hang(plain, "      hint: ", g.hint)
		}
	}
}

func gapWhat(g stack.Gap) string {
	facts := few(g.Facts, 3)
	if facts == "*" {
		facts = "everything"
	}
	switch {
	case g.Of.IsZero():
		return facts
	case facts == "":
		return g.Of.String()
	}
	return g.Of.String() + " " + facts
}

// few joins the first n of a list and counts the rest.
func few(list []string, n int) string {
	if len(list) <= n+1 {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:n], ", ") + " and " + count(len(list)-n, "other")
}

// about keeps the gaps that concern one of these things.
func about(gaps []stack.Gap, things map[stack.Ref]bool) []stack.Gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g stack.Gap) bool { return !things[g.Of] })
}
