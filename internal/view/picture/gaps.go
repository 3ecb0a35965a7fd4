package picture

import (
	"math"
	"slices"
	"strings"

	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// maxGaps bounds the list of what could not be seen: after that the count is
// enough, and --json has them all.
const maxGaps = 8

// gapGroup is gaps with one reason.
type gapGroup struct {
	why, hint string
	things    []stack.Ref
	facts     map[stack.Ref][]string
}

// Gaps lists what could not be seen, why, and what would help. Gaps with the
// same reason are one line, and reasons with the same hint stand above it.
func Gaps(p *page.Page, s *stack.Stack, v Facts, gaps []stack.Gap) {
	if len(gaps) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Bold, "NOT VISIBLE")
	GapList(p, s, v, GapGroups(gaps), 2)
}

// GapList writes groups of gaps at an indentation.
func GapList(p *page.Page, s *stack.Stack, v Facts, groups []gapGroup, in int) {
	indent := strings.Repeat(" ", in)
	left := len(groups) - min(len(groups), maxGaps)
	for groups = groups[:len(groups)-left]; len(groups) > 0; {
		hint := groups[0].hint
		for _, g := range groups {
			if g.hint != hint {
				continue
			}
			p.Hang(page.Normal, indent, v.gapText(s, g))
		}
		if hint != "" {
			p.Hang(page.Normal, indent+"  hint: ", hint)
		}
		groups = slices.DeleteFunc(slices.Clone(groups), func(g gapGroup) bool { return g.hint == hint })
	}
	if left > 0 {
		p.Para(page.Dim, in, "and "+units.Count(left, "other reason")+": --json lists all")
	}
}

// GapGroups puts what could not be seen for one reason together.
func GapGroups(gaps []stack.Gap) []gapGroup {
	return groupGaps(gaps, ShortWhy)
}

func groupGaps(gaps []stack.Gap, shown func(why string) string) []gapGroup {
	var groups []gapGroup
	for _, g := range gaps {
		why := shown(g.Why)
		i := slices.IndexFunc(groups, func(o gapGroup) bool { return o.why == why && o.hint == g.Hint })
		if i < 0 {
			i = len(groups)
			groups = append(groups, gapGroup{why: why, hint: g.Hint, facts: map[stack.Ref][]string{}})
		}
		if !slices.Contains(groups[i].things, g.Of) {
			groups[i].things = append(groups[i].things, g.Of)
		}
		groups[i].facts[g.Of] = append(groups[i].facts[g.Of], g.Facts...)
	}
	return groups
}

// gapText names what is missing, and why: "cloud of this host: there are no
// DMI tables".
func (v Facts) gapText(s *stack.Stack, g gapGroup) string {
	what := units.Some(v.gapWhat(s, g, 2), 2)
	if what == "" {
		return g.why
	}
	return what + ": " + g.why
}

// gapWhat names what is missing, thing by thing, with at most so many facts of
// each.
func (v Facts) gapWhat(s *stack.Stack, g gapGroup, most int) []string {
	var of []string
	for _, ref := range g.things {
		var names []string
		for _, f := range g.facts[ref] {
			names = append(names, strings.Replace(v.Name(ref.Kind, f), "*", "everything", 1))
		}
		what := units.Some(names, most)
		switch {
		case ref.IsZero():
		case what == "":
			what = ThingName(s, ref)
		default:
			what += " of " + ThingName(s, ref)
		}
		if what != "" {
			of = append(of, what)
		}
	}
	return of
}

// Unseen is what could not be seen for one reason, in full.
type Unseen struct {
	What []string // "cloud of this host", thing by thing; empty for the host as a whole
	Why  string
	Hint string // "" when nothing is known to help
}

// AllUnseen gives all that could not be seen: nothing is cut or left out.
func (v Facts) AllUnseen(s *stack.Stack, gaps []stack.Gap) []Unseen {
	var out []Unseen
	for _, g := range groupGaps(gaps, func(why string) string { return why }) {
		out = append(out, Unseen{What: v.gapWhat(s, g, math.MaxInt-1), Why: g.why, Hint: g.hint})
	}
	return out
}

// About keeps the gaps that concern one of these things.
func About(gaps []stack.Gap, things map[stack.Ref]stack.Ref) []stack.Gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g stack.Gap) bool {
		_, have := things[g.Of]
		return !have
	})
}

// InPicture leaves out the gaps of filesystems and datasets on which no server
// keeps anything: they are not in the picture.
func InPicture(gaps []stack.Gap, drawn map[stack.Ref]stack.Ref) []stack.Gap {
	return slices.DeleteFunc(slices.Clone(gaps), func(g stack.Gap) bool {
		_, have := drawn[g.Of]
		return !have && (g.Of.Kind == "filesystem" || g.Of.Kind == "dataset")
	})
}

// ShortWhy cuts what a program said at length down to its beginning, and what
// only differs in file names to the cause. --all and --json have it whole.
func ShortWhy(why string) string {
	for _, cause := range []string{"permission denied", "operation not permitted"} {
		if strings.HasSuffix(strings.ToLower(why), cause) {
			return cause
		}
	}
	if what, _, late := strings.Cut(why, ": context deadline exceeded"); late { // what was asked matters more than how it ended
		return units.Start(what, maxAsked) + ": no answer in time"
	}
	for _, end := range []string{"; ", ". "} { // what follows is detail
		if i := strings.Index(why, end); i >= 20 && page.Width(why) > maxWhy {
			why = why[:i]
		}
	}
	for page.Width(why) > maxWhy { // what comes first is the way there, the cause is last
		_, cause, ok := strings.Cut(why, ": ")
		if !ok {
			break
		}
		why = cause
	}
	return why
}

// maxWhy is the width above which a reason is cut at the end of a part.
const maxWhy = 100

// maxAsked is how much of a question is shown that was not answered in time.
const maxAsked = 60
