package check

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/rule"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// foot counts, and says what can be typed next.
func (c CheckPage) foot() {
	c.Blank()
	fs := c.r.Advice.Findings
	head := "Nothing is out of line in what could be seen"
	if len(fs) > 0 {
		head = findingsText(fs)
	}
	c.Hang(page.Normal, "", page.Keep(head)+" · "+units.Count(c.r.Judged, "rule")+" judged · nothing was changed")
	if !c.r.Stack.Root && len(c.r.Stack.Gaps) > 0 && c.r.From == "" {
		c.Hang(page.Normal, "", "Read without root's rights: sudo plumb check sees more.")
	}
	c.next(fs)
}

// next lists commands that lead on from this report, ready to be copied.
func (c CheckPage) next(fs []advise.Finding) {
	var rows [][2]string
	if len(fs) > 0 {
		rows = append(rows, [2]string{"plumb explain " + fs[0].Rule.ID, "why, which versions, sources"})
	}
	if fore := c.r.Advice.Foretold; len(fore) > 0 {
		rows = append(rows, [2]string{"plumb explain " + fore[0].Rules[0], "what such a rule looks for"})
	}
	check := "plumb check"
	if c.r.From != "" {
		check += " ..." // the same tape again
	}
	if c.r.From == "" && len(c.r.Advice.Plan.Steps) > 0 {
		rows = append(rows, [2]string{"plumb fix --dry-run", "what fix would do about it"})
	} else if target := firstTarget(c.r.Advice.Plan); target != "" {
		rows = append(rows, [2]string{check + " --emit " + target, "what to set, in that form"})
	}
	if !c.all && slices.ContainsFunc(fs, func(f advise.Finding) bool { return f.Rule.Harm == rule.Note }) {
		rows = append(rows, [2]string{check + " --all", "the notes in full"})
	}
	w := 0
	for _, r := range rows {
		w = max(w, page.Width(r[0]))
	}
	for _, r := range rows {
		if 2+w+2+page.Width(r[1]) > c.Text {
			c.Within(c.Text, page.Dim, "  ", page.Dim, r[0])
			continue
		}
		c.Line(page.Dim, "  "+page.Columns(r[0], w+2)+r[1])
	}
}

// firstTarget is the form that takes the first step of a plan that any takes.
func firstTarget(plan advise.Plan) string {
	for _, s := range plan.Steps {
		for _, target := range EmitTargets() {
			if slices.Contains(targetKinds(target), s.Knob.Of.Kind) {
				return target
			}
		}
	}
	return ""
}

// findingsText counts findings by their harm.
func findingsText(fs []advise.Finding) string {
	by := countHarms(fs)
	var parts []string
	for _, h := range advise.Harms() {
		switch {
		case by[h] == 0:
		case h == rule.Slow: // not a noun
			parts = append(parts, fmt.Sprintf("%d %s", by[h], h))
		default:
			parts = append(parts, units.Count(by[h], string(h)))
		}
	}
	return units.Count(len(fs), "finding") + ": " + strings.Join(parts, ", ")
}

func countHarms(fs []advise.Finding) map[rule.Harm]int {
	by := map[rule.Harm]int{}
	for _, f := range fs {
		by[f.Rule.Harm]++
	}
	return by
}
