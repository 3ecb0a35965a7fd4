package check

import (
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/stack"
	"plumb/internal/view/picture"
)

// stepHTML is one step of the plan.
type stepHTML struct {
	Number         int
	Of, Name       string
	From, To       string
	Do             string // what to type or to write
	Because        string
	Rules          []string
	When, Note     string
	Durability     string // "" when it is safe before and after
	LessDurable    bool
	Back           string // how it is undone by hand
	BackIsCommand  bool
	BackAfterwards string // what the way back leaves as it is
}

func (c CheckPage) stepHTML(number int, s advise.Step) stepHTML {
	of := s.Knob.Of
	h := stepHTML{Number: number, Of: picture.ThingName(c.r.Stack, of), Name: c.Name(of.Kind, s.Knob.Name), From: "not known",
		To: c.Show(of.Kind, s.Knob.Name, s.To), Do: c.setting(s), Because: strings.ReplaceAll(s.Because, "\n", " "), Rules: s.Why,
		When: picture.EffectText(s.Effect), Note: s.Note}
	if !s.From.IsAbsent() {
		h.From = c.Show(of.Kind, s.Knob.Name, s.From)
	}
	if s.DurabilityFrom != s.DurabilityTo || s.DurabilityTo != catalog.Safe {
		h.Durability = s.DurabilityFrom + " → " + s.DurabilityTo
		h.LessDurable = catalog.Danger(s.DurabilityTo) > catalog.Danger(s.DurabilityFrom)
	}
	h.Back, h.BackIsCommand = c.back(s)
	if s.Effect == catalog.NewWrites {
		h.BackAfterwards = "what was written in between stays as it is"
	}
	return h
}

// back says how a step is undone by hand, from what was in force and who had
// set it.
func (c CheckPage) back(s advise.Step) (text string, command bool) {
	if s.Effect == catalog.Recreate {
		return "it is fixed when it is created: keep the old one until the new one has proven itself", false
	}
	var origin stack.Origin
	if t := c.r.Stack.Find(s.Knob.Of); t != nil {
		if o := t.Facts[s.Knob.Name].Origin; o != nil {
			origin = *o
		}
	}
	if s.Knob.Of.Kind == "dataset" {
		return c.datasetBack(s, origin)
	}
	if s.From.IsAbsent() {
		return "what is in force is not known: note it first", false
	}
	was := s
	was.To = s.From
	if s.Knob.Of.Kind == "pool" {
		return c.setting(was), true
	}
	again := map[catalog.Effect]string{catalog.Restart: ", and restart", catalog.Reload: ", and reload", catalog.Remount: ", and remount"}[s.Effect]
	switch origin.From {
	case stack.FromFile, stack.FromPersisted, stack.FromCommand:
		return "set " + c.setting(was) + " again where it came from (" + OriginText(origin) + ")" + again, false
	case stack.FromDefault, stack.FromComputed:
		return "take the setting out again" + again + ": " + c.Show(s.Knob.Of.Kind, s.Knob.Name, s.From) + " is the " + origin.From + " value", false
	}
	return "set " + c.setting(was) + again, false
}

// datasetBack takes a property back; one that was inherited is inherited again.
func (c CheckPage) datasetBack(s advise.Step, origin stack.Origin) (text string, command bool) {
	name, of := c.Name("dataset", s.Knob.Name), s.Knob.Of.Name
	was := s
	was.To = s.From
	switch {
	case origin.From == stack.FromReceived:
		return "zfs inherit -S " + name + " " + of, true
	case origin.From == stack.FromInherited || origin.From == stack.FromDefault:
		return "zfs inherit " + name + " " + of, true
	}
	if s.From.IsAbsent() {
		return "what is in force is not known: note it first", false
	}
	return c.setting(was), true
}
