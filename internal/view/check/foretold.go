package check

import (
	"strings"

	"plumb/internal/advise"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// foretold says when to ask again, and which rules wait for it.
func (c CheckPage) foretold() {
	if len(c.r.Advice.Foretold) == 0 {
		return
	}
	c.Blank()
	c.Line(page.Bold, "NEXT: check again under load"+afterwards(c.r.Advice.Plan))
	for _, f := range c.r.Advice.Foretold {
		c.Hang(page.Normal, "  ", f.Server.String()+": "+when(f)+page.Join(f.About))
		c.Hang(page.Dim, "    ", c.rulesThatWait(f.Rules))
	}
}

// afterwards says what comes before.
func afterwards(plan advise.Plan) string {
	if len(plan.Steps) == 0 {
		return ""
	}
	return ", after following this advice"
}

func when(f advise.Foretold) string {
	switch {
	case f.Restart:
		return "a restart sets its counters back to zero; under load Plumb can then judge "
	case f.Young:
		return "it started less than a minute ago; after some load Plumb can also judge "
	case f.Idle:
		return "it is almost idle now; under load Plumb can also judge "
	}
	return "under load Plumb can also judge "
}

// maxForetold is how many of the rules that wait are named.
const maxForetold = 4

func (c CheckPage) rulesThatWait(ids []string) string {
	shown := ids
	if !c.all && len(ids) > maxForetold+1 {
		shown = ids[:maxForetold]
	}
	text := strings.Join(shown, ", ")
	if left := len(ids) - len(shown); left > 0 {
		text += " and " + units.Count(left, "other rule") + " (--all)"
	}
	return text
}
