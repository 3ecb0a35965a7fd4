package check

import (
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/rule"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// maxCases is how many places of one finding are named before they are counted.
const maxCases = 4

// finding writes one finding: number, title and rule; why it matters here;
// the facts that decided; what to do. A note is one line unless all is asked
// for.
func (c CheckPage) finding(f advise.Finding) {
	first := f.Cases[0]
	title := first.Title
	if n := len(f.Cases) - 1; n > 0 {
		title += fmt.Sprintf(" (and %s)", units.Count(n, "other"))
	}
	c.Sides(fmt.Sprintf("%2d  ", f.Number), page.Bold, title, page.Dim, f.Rule.ID)
	if f.Rule.Harm == rule.Note && !c.all {
		return
	}
	c.Para(page.Normal, 4, first.Say)
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
		c.Labelled(page.Dim, "    see too  ", page.Normal, a.Rule)
	}
}

// because writes the facts that decided, one thing a line.
func (c CheckPage) because(ev []rule.Evidence) {
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
		between := ", "
		if strings.Contains(strings.Join(facts, ""), between) {
			between = "; " // a value that is a list: the next fact is not one of its items
		}
		c.Labelled(page.Dim, head, page.Normal, c.thing(of)+strings.Join(facts, between))
		head = strings.Repeat(" ", page.Width(head))
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
func (c CheckPage) thing(r stack.Ref) string {
	switch r.Kind {
	case "host", "zfs", "memory":
		return ""
	}
	if product.IsServer(r.Kind) && len(picture.Servers(c.r.Stack)) == 1 {
		return ""
	}
	return page.Keep(picture.ThingName(c.r.Stack, r)) + ": "
}

// fact writes one fact with its value, and who set it.
func (c CheckPage) fact(e rule.Evidence) string {
	text := c.Name(e.Of.Kind, e.Name) + " = " + c.Show(e.Of.Kind, e.Name, e.Fact.Value)
	if page.Width(text) <= page.MaxItem*3/2 {
		text = page.Keep(text)
	}
	if e.Fact.Origin != nil {
		text += " (" + OriginText(*e.Fact.Origin) + ")"
	}
	if e.Fact.Next != nil {
		text += ", after the next start " + c.Show(e.Of.Kind, e.Name, e.Fact.Next.Value) +
			" (" + OriginText(e.Fact.Next.Origin) + ")"
	}
	return text
}

// OriginText says who set a value: a file and line, the default, a parent.
func OriginText(o stack.Origin) string {
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

func (c CheckPage) remedy(head string, r advise.Remedy) {
	if !r.IsStep() {
		c.Labelled(page.Dim, head, page.Normal, r.Do)
		return
	}
	text := c.setting(r.Step)
	if r.Withheld != "" {
		c.Labelled(page.Dim, head, page.Normal, "not proposed: "+text+" · "+r.Withheld)
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
	parts[0] = page.Keep(parts[0])
	c.Labelled(page.Dim, head, page.Cyan, strings.Join(parts, " · "))
}

// setting writes a step as a person would type it.
func (c CheckPage) setting(s advise.Step) string {
	name, of := c.Name(s.Knob.Of.Kind, s.Knob.Name), s.Knob.Of
	to := c.Show(of.Kind, s.Knob.Name, s.To)
	switch of.Kind {
	case "dataset":
		return fmt.Sprintf("zfs set %s=%s %s", name, to, of.Name)
	case "pool":
		return fmt.Sprintf("zpool set %s=%s %s", name, to, of.Name)
	}
	if of.Kind == "host" || of.Kind == "zfs" || product.IsServer(of.Kind) {
		return name + " = " + to
	}
	return c.thing(of) + name + " = " + to
}

// whenText says when a step takes effect, unless its note begins with that.
func whenText(s advise.Step) string {
	text := picture.EffectText(s.Effect)
	if strings.HasPrefix(s.Note, text) || strings.HasPrefix(s.Note, string(s.Effect)) {
		return ""
	}
	return text
}

// others names the further places where the rule fired.
func (c CheckPage) others(cases []advise.Case) {
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
	c.Labelled(page.Dim, "    also on  ", page.Normal, units.Some(places, n))
}

// placeOf names what tells one case from the first: its server, or else
// whatever things differ.
func (c CheckPage) placeOf(k, first advise.Case) string {
	var names []string
	for _, r := range k.Things {
		if slices.Contains(first.Things, r) {
			continue
		}
		if product.IsServer(r.Kind) {
			return r.String()
		}
		names = append(names, strings.TrimSuffix(c.thing(r), ": "))
	}
	return strings.Join(names, " ")
}

// conflicts says which values were set aside, and why.
func (c CheckPage) conflicts() {
	if len(c.r.Advice.Conflicts) == 0 {
		return
	}
	c.Blank()
	c.Line(page.Bold, "SETTLED: rules wanted different values for one setting")
	for _, k := range c.r.Advice.Conflicts {
		c.Para(page.Normal, 4, c.settled(k))
	}
}

// settled says which of two values is kept, and why.
func (c CheckPage) settled(k advise.Conflict) string {
	show := func(v stack.Value) string { return c.Show(k.Knob.Of.Kind, k.Knob.Name, v) }
	return fmt.Sprintf("%s%s: %s is kept (%s), %s is not (%s): %s.", c.thing(k.Knob.Of), c.Name(k.Knob.Of.Kind, k.Knob.Name),
		show(k.Kept), strings.Join(k.For, ", "), show(k.Lost), strings.Join(k.Against, ", "), k.Reason)
}
