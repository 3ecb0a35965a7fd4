package fix

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/fix"
	"plumb/internal/stack"
	"plumb/internal/units"
	checkview "plumb/internal/view/check"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// fixPage shows plans and what became of them.
type fixPage struct {
	checkview.CheckPage
}

func newFixPage(cat *catalog.Catalog, s page.Screen) fixPage {
	return fixPage{checkview.CheckPage{Page: page.NewPage(s), Facts: picture.Facts{Cat: cat}}}
}

// Plan shows what fix would do, thing by thing: each step with its values,
// its reason, when it is in force, what makes it last and how it is undone.
func Plan(d change.Draft, cat *catalog.Catalog, s page.Screen) string {
	p := newFixPage(cat, s)
	for i, step := range d.Steps {
		if i == 0 || d.Steps[i-1].Knob.Of != step.Knob.Of {
			p.Line(page.Bold, step.Knob.Of.String())
		}
		p.step(i+1, step)
	}
	p.waiting(d)
	p.refused(d)
	p.already(d)
	if len(d.Missing) > 0 {
		p.Blank()
		p.Line(page.Red, "RIGHTS THAT ARE MISSING")
		for _, m := range d.Missing {
			p.Hang(page.Normal, "    ", m)
		}
	}
	if len(d.Steps)+len(d.Refused)+len(d.Already) > 0 {
		p.Blank()
	}
	p.Para(page.Normal, 0, p.total(d))
	if len(d.Steps) > 0 && !d.Stops() {
		p.Para(page.Dim, 0, "Each step is written to the journal before it is made; plumb undo reverts it.")
	}
	return p.String()
}

// step shows one step.
func (p fixPage) step(number int, s change.Prepared) {
	name := p.Name(s.Knob.Of.Kind, s.Knob.Name)
	from := "not known"
	if !s.Now.IsAbsent() {
		from = p.Show(s.Knob.Of.Kind, s.Knob.Name, s.Now)
	}
	p.Sides(fmt.Sprintf("%2d  ", number), page.Bold, fmt.Sprintf("%s: %s -> %s", name, from, p.Show(s.Knob.Of.Kind, s.Knob.Name, s.To)), page.Dim, effectWord(s))
	because := strings.ReplaceAll(s.Because, "\n", " ")
	if len(s.Why) > 0 {
		because = strings.TrimSpace(because + " (" + strings.Join(s.Why, ", ") + ")")
	}
	if because != "" {
		p.Para(page.Normal, 4, because)
	}
	p.Para(page.Dim, 4, strings.Join(lasting(s), " · "))
	if s.DurabilityFrom != s.DurabilityTo || s.DurabilityTo != catalog.Safe {
		colour := page.Normal
		if catalog.Danger(s.DurabilityTo) > catalog.Danger(s.DurabilityFrom) {
			colour = page.Red
		}
		p.Labelled(page.Dim, "    durability  ", colour, s.DurabilityFrom+" -> "+s.DurabilityTo)
	}
	for _, n := range s.Recipe.Notes {
		p.Labelled(page.Dim, "    note        ", page.Normal, n)
	}
}

// effectWord says when a value is in force.
func effectWord(s change.Prepared) string {
	switch {
	case s.Recipe.Effect == catalog.Remount && s.Recipe.Waits != "":
		return "after a remount"
	case s.Recipe.Waits != "":
		return "after a restart"
	}
	switch s.Recipe.Effect {
	case catalog.NewWrites:
		return "new writes only"
	case catalog.Reload:
		return "now, by a reload"
	case catalog.Remount:
		return "now, by a remount"
	}
	return "now"
}

// lasting says what makes a value last, and how it is undone.
func lasting(s change.Prepared) []string {
	lasts := "persists in " + s.Recipe.Lasts
	if s.Recipe.Lasts == "" {
		lasts = "does not persist"
	}
	return []string{page.Keep(lasts), page.Keep("undo: " + undoing(s))}
}

// undoing says in a few words how a step is taken back.
func undoing(s change.Prepared) string {
	var ways []string
	add := func(way string) {
		if !slices.Contains(ways, way) {
			ways = append(ways, way)
		}
	}
	for _, a := range s.Recipe.Acts {
		switch {
		case a.Switch != nil:
			add("set back")
		case a.Make != nil:
			add("removed, as long as it is unchanged")
		case a.Copy != nil:
			add("copy removed, as long as nobody changed it")
		case a.Edit.Ours:
			add("line removed")
		default:
			add("file as it was")
		}
	}
	return strings.Join(ways, ", ")
}

// waiting lists what values wait for, with their steps.
func (p fixPage) waiting(d change.Draft) {
	var waits []string
	steps, doable := map[string][]string{}, map[string]bool{}
	for i, s := range d.Steps {
		w := s.Recipe.Waits
		if w == "" {
			continue
		}
		if steps[w] == nil {
			waits = append(waits, w)
		}
		steps[w] = append(steps[w], fmt.Sprint(i+1))
		doable[w] = s.Recipe.Restart != nil
	}
	if waits == nil {
		return
	}
	p.Blank()
	p.Line(page.Yellow, "IN FORCE LATER")
	for _, w := range waits {
		how := "which you have to do"
		if doable[w] {
			how = "which --restart does"
		}
		noun := "steps "
		if len(steps[w]) == 1 {
			noun = "step "
		}
		p.Hang(page.Normal, "    ", noun+page.Join(steps[w])+" after "+w+", "+how)
	}
}

// refused lists the steps that will not be done, with the reason.
func (p fixPage) refused(d change.Draft) {
	if len(d.Refused) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Yellow, "NOT DONE BY PLUMB")
	for _, r := range d.Refused {
		p.Hang(page.Normal, "    ", fmt.Sprintf("%s = %s: %s", r.Knob, p.Show(r.Knob.Of.Kind, r.Knob.Name, r.To), r.Reason))
		if r.Hint != "" {
			p.Labelled(page.Dim, "        ", page.Dim, r.Hint)
		}
	}
}

func (p fixPage) already(d change.Draft) {
	if len(d.Already) == 0 {
		return
	}
	p.Blank()
	p.Line(page.Dim, "IN FORCE ALREADY")
	for _, s := range d.Already {
		p.Hang(page.Normal, "    ", fmt.Sprintf("%s = %s", s.Knob, p.Show(s.Knob.Of.Kind, s.Knob.Name, s.To)))
	}
}

// total is the last line.
func (p fixPage) total(d change.Draft) string {
	waits := 0
	for _, s := range d.Steps {
		if s.Recipe.Waits != "" {
			waits++
		}
	}
	parts := []string{units.Count(len(d.Steps), "step")}
	if len(d.Steps) == 0 {
		parts = []string{"Nothing to do"}
	}
	if waits > 0 {
		later := "take effect later"
		if waits == 1 {
			later = "takes effect later"
		}
		parts = append(parts, fmt.Sprintf("%d of them %s", waits, later))
	}
	if len(d.Refused) > 0 {
		parts = append(parts, fmt.Sprintf("%d not done by Plumb", len(d.Refused)))
	}
	return strings.Join(parts, " · ")
}

// Outcome shows what became of each step, after the host was read again.
func Outcome(r fix.Result, cat *catalog.Catalog, s page.Screen) string {
	p := newFixPage(cat, s)
	p.Blank() // the plan stands above
	done := 0
	for i, step := range r.Steps {
		name := fmt.Sprintf("%s %s = %s", step.Knob.Of, p.Name(step.Knob.Of.Kind, step.Knob.Name), p.Show(step.Knob.Of.Kind, step.Knob.Name, step.To))
		p.Labelled(page.Bold, fmt.Sprintf("%2d  ", i+1), page.Normal, page.Keep(name)+" · "+p.became(step, find(r.After, step.Knob)))
		for _, g := range step.Got {
			p.Para(page.Dim, 4, g)
		}
		if step.Done {
			done++
		}
	}
	p.Blank()
	switch {
	case done == 0:
		p.Line(page.Normal, "Nothing was changed.")
	case r.Try > 0:
		p.Para(page.Bold, 0, fmt.Sprintf("Change %d is undone in %s unless you type: plumb confirm", r.Number, units.Short(r.Try)))
	default:
		p.Para(page.Normal, 0, fmt.Sprintf("Change %d: %s done. plumb undo reverts it.", r.Number, units.Count(done, "step")))
	}
	return p.String()
}

func find(after []fix.After, k stack.Knob) *fix.After {
	i := slices.IndexFunc(after, func(a fix.After) bool { return a.Knob == k })
	if i < 0 {
		return nil
	}
	return &after[i]
}

// became says in one line what came of a step.
func (p fixPage) became(s change.StepOutcome, a *fix.After) string {
	switch {
	case s.Failure != "":
		return s.Back + ": " + s.Failure
	case !s.Done:
		return "not started"
	case s.Recipe.Waits != "" && !s.Restarted:
		return "done; waits for " + s.Recipe.Waits
	case a == nil:
		return "done"
	case !a.Known:
		return "done; a check could not read it back"
	case !a.Fact.Value.Equal(s.To):
		return "done, but overridden: in force is " + p.Show(s.Knob.Of.Kind, s.Knob.Name, a.Fact.Value) + whoSet(a.Fact)
	case a.Fact.Next != nil && !a.Fact.Next.Value.Equal(s.To):
		return fmt.Sprintf("done, but overridden: the next start brings %s (%s)", p.Show(s.Knob.Of.Kind, s.Knob.Name, a.Fact.Next.Value), checkview.OriginText(a.Fact.Next.Origin))
	case len(a.Fires) > 0:
		return "done, and " + strings.Join(a.Fires, ", ") + " still fires: it asks for more than this"
	case len(s.Why) == 0:
		return "done"
	}
	return "done; the rule no longer fires"
}

func whoSet(f stack.Fact) string {
	if f.Origin == nil {
		return ""
	}
	return " (" + checkview.OriginText(*f.Origin) + ")"
}
