package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/stack"
)

// After is what was seen of a step's knob when the host was read again.
type After struct {
	Knob  stack.Knob
	Known bool
	Fact  stack.Fact
	Fires []string // rules that asked for the step and still fire
}

// fixPage shows plans and what became of them.
type fixPage struct {
	checkPage
}

func newFixPage(cat *catalog.Catalog, s Screen) fixPage {
	return fixPage{checkPage{page: newPage(s), facts: facts{cat}}}
}

// FixPlan shows what fix would do: each step with its values, reason, time of
// effect, and what makes it last.
func FixPlan(d change.Draft, cat *catalog.Catalog, s Screen) string {
	p := newFixPage(cat, s)
	for i, step := range d.Steps {
		p.step(i+1, step)
	}
	if len(d.Steps) > 0 {
		p.para(dim, 4, "Each is written to the journal before it is done; plumb undo takes it back.")
	}
	p.refused(d)
	p.already(d)
	if len(d.Missing) > 0 {
		p.blank()
		p.line(red, "RIGHTS THAT ARE MISSING")
		for _, m := range d.Missing {
			p.hang(plain, "    ", m)
		}
	}
	p.blank()
	p.line(plain, p.total(d))
	return p.String()
}

// step shows one step.
func (p fixPage) step(number int, s change.Prepared) {
	p.blank()
	name := p.name(s.Knob.Of.Kind, s.Knob.Name)
	head := fmt.Sprintf("%2d  ", number)
	from := "not known"
	if !s.Now.IsAbsent() {
		from = p.show(s.Knob.Of.Kind, s.Knob.Name, s.Now)
	}
	p.labelled(bold, head, bold, fmt.Sprintf("%s %s: %s -> %s", s.Knob.Of, name, from, p.show(s.Knob.Of.Kind, s.Knob.Name, s.To)))
	because := s.Because
	if len(s.Why) > 0 {
		because += " (" + strings.Join(s.Why, ", ") + ")"
	}
	p.labelled(dim, "    why       ", plain, strings.ReplaceAll(because, "\n", " "))
	p.labelled(dim, "    effect    ", plain, p.effect(s))
	if s.Recipe.Lasts != "" {
		p.labelled(dim, "    lasts in  ", plain, s.Recipe.Lasts)
	}
	if s.DurabilityFrom != s.DurabilityTo {
		p.labelled(dim, "    durable   ", plain, s.DurabilityFrom+" -> "+s.DurabilityTo)
	}
	for _, n := range s.Recipe.Notes {
		p.labelled(dim, "    note      ", plain, n)
	}
}

func (p fixPage) effect(s change.Prepared) string {
	if s.Recipe.Waits != "" {
		text := "waits for " + s.Recipe.Waits
		if s.Recipe.Restart != nil {
			return text + " (--restart does it)"
		}
		return text + ", which is yours to do"
	}
	switch s.Recipe.Effect {
	case catalog.Now, catalog.Reload, catalog.Remount, "":
		return "now"
	}
	return effectText(s.Recipe.Effect)
}

// refused lists the steps that will not be done, with the reason.
func (p fixPage) refused(d change.Draft) {
	if len(d.Refused) == 0 {
		return
	}
	p.blank()
	p.line(yellow, "NOT DONE BY PLUMB")
	for _, r := range d.Refused {
		p.hang(plain, "    ", fmt.Sprintf("%s = %s: %s", r.Knob, p.show(r.Knob.Of.Kind, r.Knob.Name, r.To), r.Reason))
		if r.Hint != "" {
			p.labelled(dim, "        ", dim, r.Hint)
		}
	}
}

func (p fixPage) already(d change.Draft) {
	if len(d.Already) == 0 {
		return
	}
	p.blank()
	p.line(dim, "IN FORCE ALREADY")
	for _, s := range d.Already {
		p.hang(plain, "    ", fmt.Sprintf("%s = %s", s.Knob, p.show(s.Knob.Of.Kind, s.Knob.Name, s.To)))
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
	parts := []string{count(len(d.Steps), "step")}
	if len(d.Steps) == 0 {
		parts = []string{"Nothing to do"}
	}
	if waits > 0 {
		parts = append(parts, fmt.Sprintf("%d of them in force only after a restart", waits))
	}
	if len(d.Refused) > 0 {
		parts = append(parts, fmt.Sprintf("%d not done by Plumb", len(d.Refused)))
	}
	return strings.Join(parts, " · ")
}

// FixOutcome shows what became of each step, after the host was read again.
func FixOutcome(out change.Outcome, after []After, try time.Duration, cat *catalog.Catalog, s Screen) string {
	p := newFixPage(cat, s)
	done := 0
	for i, step := range out.Steps {
		name := fmt.Sprintf("%s %s = %s", step.Knob.Of, p.name(step.Knob.Of.Kind, step.Knob.Name), p.show(step.Knob.Of.Kind, step.Knob.Name, step.To))
		p.labelled(bold, fmt.Sprintf("%2d  ", i+1), plain, keep(name)+" · "+p.became(step, find(after, step.Knob)))
		for _, g := range step.Got {
			p.para(dim, 4, g)
		}
		if step.Done {
			done++
		}
	}
	p.blank()
	switch {
	case done == 0:
		p.line(plain, "Nothing is changed.")
	case try > 0:
		p.para(bold, 0, fmt.Sprintf("Change %d is undone in %s unless you type: plumb confirm", out.Number, short(try)))
	default:
		p.para(plain, 0, fmt.Sprintf("Change %d: %s done. plumb undo takes it back; plumb history %d shows each act.", out.Number, count(done, "step"), out.Number))
	}
	return p.String()
}

func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func find(after []After, k stack.Knob) *After {
	i := slices.IndexFunc(after, func(a After) bool { return a.Knob == k })
	if i < 0 {
		return nil
	}
	return &after[i]
}

// became says in one line what came of a step.
func (p fixPage) became(s change.StepOutcome, a *After) string {
	switch {
	case s.Failure != "":
		return "failed: " + s.Failure + "; " + s.Back
	case !s.Done:
		return "not begun"
	case s.Recipe.Waits != "" && !s.Restarted:
		return "set; waits for " + s.Recipe.Waits
	case a == nil:
		return "done"
	case !a.Known:
		return "done; it could not be read back by a check"
	case !a.Fact.Value.Equal(s.To):
		return "done, but in force is " + p.show(s.Knob.Of.Kind, s.Knob.Name, a.Fact.Value) + whoSet(a.Fact)
	case a.Fact.Next != nil && !a.Fact.Next.Value.Equal(s.To):
		return fmt.Sprintf("done, but the next start brings %s (%s)", p.show(s.Knob.Of.Kind, s.Knob.Name, a.Fact.Next.Value), originText(a.Fact.Next.Origin))
	case len(a.Fires) > 0:
		return "done, and " + strings.Join(a.Fires, ", ") + " still fires: it asks for more than this value"
	case len(s.Why) == 0:
		return "done"
	}
	return "done, the rule is quiet"
}

func whoSet(f stack.Fact) string {
	if f.Origin == nil {
		return ""
	}
	return " (" + originText(*f.Origin) + ")"
}
