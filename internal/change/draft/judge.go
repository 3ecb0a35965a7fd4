package draft

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/stack"
)

// judge says whether a step may be done at all.
func (p *drafting) judge(step change.Step) (change.Want, stack.Value, *change.Refused) {
	refuse := func(help, why string, args ...any) *change.Refused {
		return &change.Refused{Step: step, Reason: fmt.Sprintf(why, args...), Hint: help, Whole: true}
	}
	fact := p.Catalog.Fact(step.Knob.Of.Kind, step.Knob.Name)
	switch {
	case fact == nil || fact.Knob == nil:
		known := slices.Sorted(maps.Keys(p.Catalog.Knobs(step.Knob.Of.Kind)))
		return change.Want{}, stack.Value{}, refuse(cmp.Or(hint.Meant(step.Knob.Name, known), "plumb stack --json shows what there is"), "%s is not a setting that Plumb knows", step.Knob)
	case p.setters[step.Knob.Of.Kind] == nil:
		return change.Want{}, stack.Value{}, refuse("set it by hand", "Plumb changes no settings of kind %s", step.Knob.Of.Kind)
	case fact.Knob.Effect == catalog.Recreate:
		return change.Want{}, stack.Value{}, &change.Refused{Step: step, Reason: "it is fixed when the thing is made", Hint: "make a new one and move the data"}
	}
	if why := outOfRange(fact, step.To); why != "" {
		return change.Want{}, stack.Value{}, refuse("", "%s", why)
	}
	want := change.Want{Knob: step.Knob, To: step.To, Fact: fact, Image: p.Image, Passing: p.Passing}
	if p.Image {
		return want, stack.Value{}, p.unsafe(fact, step, stack.Value{})
	}
	thing := p.Stack.Find(step.Knob.Of)
	if thing == nil {
		return want, stack.Value{}, refuse("plumb stack shows what there is", "%s is not on this host", step.Knob.Of)
	}
	now, known := thing.Get(step.Knob.Name)
	if known && !step.From.IsAbsent() && !step.From.Equal(now) && !step.To.Equal(now) {
		return want, now, refuse("plumb check --plan FILE makes a new plan", "the plan is out of date: the value was %s when it was made, and is %s now", step.From, now)
	}
	return want, now, p.unsafe(fact, step, now)
}

// unsafe refuses a less durable value that nobody allowed by name.
func (p *drafting) unsafe(fact *catalog.Fact, step change.Step, now stack.Value) *change.Refused {
	if !fact.LessDurable(now, step.To) || slices.Contains(p.AllowUnsafe, step.Knob.String()) || slices.Contains(p.AllowUnsafe, step.Knob.Name) {
		return nil
	}
	return &change.Refused{Step: step, Whole: true, Hint: "--allow-unsafe " + step.Knob.String() + " allows it",
		Reason: fmt.Sprintf("%s is less durable than now: %s", step.To, fact.Durability(step.To))}
}

// outOfRange says what is wrong with a value by the catalogue; the server's
// own limits are its setter's affair.
func outOfRange(f *catalog.Fact, v stack.Value) string {
	if v.IsAbsent() {
		return "the plan gives no value for it"
	}
	if n, ok := v.Number(); ok {
		if f.Knob.Min != nil && n < *f.Knob.Min {
			return fmt.Sprintf("%s is below the minimum, %g", v, *f.Knob.Min)
		}
		if f.Knob.Max != nil && n > *f.Knob.Max {
			return fmt.Sprintf("%s is above the maximum, %g", v, *f.Knob.Max)
		}
	}
	if text, ok := v.Text(); ok && len(f.Knob.Values) > 0 && !slices.Contains(f.Knob.Values, text) {
		return fmt.Sprintf("%s is not one of its values: %v", v, f.Knob.Values)
	}
	return ""
}
