package view

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// maxCases is how many places of one finding are named before they are counted.
const maxCases = 4

// finding writes one finding: number, title and rule; why it matters here;
// the facts that decided; what to do. A note is one line unless all is asked
// for.
func (c checkPage) finding(f advise.Finding) {
	first := f.Cases[0]
	title := first.Title
	if n := len(f.Cases) - 1; n > 0 {
		title += fmt.Sprintf(" (and %s)", count(n, "other"))
	}
	c.sides(fmt.Sprintf("%2d  ", f.Number), bold, title, dim, f.Rule.ID)
	if f.Rule.Harm == rule.Note && !c.all {
		return
	}
	c.para(plain, 4, first.Say)
	c.because(first.Evidence)
	for i, r := range first.Remedies {
		head := "    remedy   "
		if i > 0 {
			head = "       and   "
		}
		c.remedy(head, r)
	}
	c.others(f.Cases)
	for _, a := range first.Also {
		c.labelled(dim, "    see too  ", plain, a.Rule)
	}
}

// because writes the facts that decided, one thing a line.
func (c checkPage) because(ev []rule.Evidence) {
	head := "    because  "
	for _, of := range thingsOf(ev) {
		var facts []string
		for _, e := range ev {
			if e.Of == of && !e.Fact.Value.IsAbsent() {
				facts = append(facts, c.fact(e))
			}
		}
		if len(facts) == 0 {
			continue // only what is known not to be there
		}
		c.labelled(dim, head, plain, c.thing(of)+strings.Join(facts, ", "))
		head = strings.Repeat(" ", width(head))
	}
}

func thingsOf(ev []rule.Evidence) []stack.Ref {
	var out []stack.Ref
	for _, e := range ev {
		if !slices.Contains(out, e.Of) {
			out = append(out, e.Of)
		}
	}
	return out
}

// thing names what a line of evidence is about: nothing for what there is
// only one of.
func (c checkPage) thing(r stack.Ref) string {
	switch r.Kind {
	case "host", "zfs", "memory":
		return ""
	}
	if slices.Contains(engines[:], r.Kind) && len(servers(c.r.Stack)) == 1 {
		return ""
	}
	return keep(thingName(c.r.Stack, r)) + ": "
}

// fact writes one fact with its value, and who set it.
func (c checkPage) fact(e rule.Evidence) string {
	text := c.name(e.Of.Kind, e.Name) + " = " + c.show(e.Of.Kind, e.Name, e.Fact.Value)
	if width(text) <= maxItem*3/2 {
		text = keep(text)
	}
	if e.Fact.Origin != nil {
		text += " (" + originText(*e.Fact.Origin) + ")"
	}
	if e.Fact.Next != nil {
		text += ", after the next start " + c.show(e.Of.Kind, e.Name, e.Fact.Next.Value) +
			" (" + originText(e.Fact.Next.Origin) + ")"
	}
	return text
}

func originText(o stack.Origin) string {
	switch o.From {
	case stack.FromFile, stack.FromPersisted:
		if o.File == "" {
			return o.From
		}
		if o.Line > 0 {
			return fmt.Sprintf("%s:%d", o.File, o.Line)
		}
		return o.File
	case stack.FromInherited:
		if o.Of != "" {
			return "inherited from " + o.Of
		}
	case stack.FromRuntime:
		return "set while running"
	}
	if o.Of != "" {
		return o.From + ", " + o.Of
	}
	return o.From
}

func (c checkPage) remedy(head string, r advise.Remedy) {
	if !r.IsStep() {
		c.labelled(dim, head, plain, r.Do)
		return
	}
	text := c.setting(r.Step)
	if r.Withheld != "" {
		c.labelled(dim, head, plain, "not proposed: "+text+" · "+r.Withheld)
		return
	}
	parts := []string{text, whenText(r.Step)}
	if r.Step.DurabilityFrom != r.Step.DurabilityTo && r.Step.DurabilityTo == catalog.Safe {
		parts = append(parts, "safer")
	}
	if r.Step.Note != "" {
		parts = append(parts, r.Step.Note)
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
	parts[0] = keep(parts[0])
	c.labelled(dim, head, cyan, strings.Join(parts, " · "))
}

// setting writes a step as a person would type it.
func (c checkPage) setting(s advise.Step) string {
	name, of := c.name(s.Knob.Of.Kind, s.Knob.Name), s.Knob.Of
	to := c.show(of.Kind, s.Knob.Name, s.To)
	switch of.Kind {
	case "dataset":
		return fmt.Sprintf("zfs set %s=%s %s", name, to, of.Name)
	case "pool":
		return fmt.Sprintf("zpool set %s=%s %s", name, to, of.Name)
	case "mysql", "postgres", "mongo", "host", "zfs":
		return name + " = " + to
	}
	return c.thing(of) + name + " = " + to
}

// whenText says when a step takes effect, unless its note begins with that.
func whenText(s advise.Step) string {
	text := effectText(s.Effect)
	if strings.HasPrefix(s.Note, text) || strings.HasPrefix(s.Note, string(s.Effect)) {
		return ""
	}
	return text
}

// others names the further places where the rule fired.
func (c checkPage) others(cases []advise.Case) {
	if len(cases) < 2 {
		return
	}
	var places []string
	for _, k := range cases[1:] {
		place := c.placeOf(k, cases[0])
		if k.Title != cases[0].Title {
			place = strings.TrimPrefix(place+" ("+k.Title+")", " ")
		}
		places = append(places, place)
	}
	n := maxCases
	if c.all {
		n = len(places)
	}
	c.labelled(dim, "    also on  ", plain, few(places, n))
}

// placeOf names what tells one case from the first: its server, or else
// whatever things differ.
func (c checkPage) placeOf(k, first advise.Case) string {
	var names []string
	for _, r := range k.Things {
		if slices.Contains(first.Things, r) {
			continue
		}
		if slices.Contains(engines[:], r.Kind) {
			return r.String()
		}
		names = append(names, strings.TrimSuffix(c.thing(r), ": "))
	}
	return strings.Join(names, " ")
}

// conflicts says which values were set aside, and why.
func (c checkPage) conflicts() {
	if len(c.r.Advice.Conflicts) == 0 {
		return
	}
	c.blank()
	c.line(bold, "SETTLED: rules wanted different values for one setting")
	for _, k := range c.r.Advice.Conflicts {
		show := func(v stack.Value) string { return c.show(k.Knob.Of.Kind, k.Knob.Name, v) }
		c.para(plain, 4, fmt.Sprintf("%s%s: %s is kept (%s), %s is not (%s): %s.", c.thing(k.Knob.Of),
			c.name(k.Knob.Of.Kind, k.Knob.Name), show(k.Kept), strings.Join(k.For, ", "),
			show(k.Lost), strings.Join(k.Against, ", "), k.Reason))
	}
}
