package provision

import (
	"fmt"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/provision/boost"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/view/page"
)

// BoostJSON is version 1 of what boost --dry-run --json prints.
type BoostJSON struct {
	Plumb   int              `json:"plumb"`
	Kind    string           `json:"kind"`    // "boost"
	Of      string           `json:"of"`      // the dataset or the server
	Seconds float64          `json:"seconds"` // at most
	Values  []BoostValueJSON `json:"values"`
	Loss    []string         `json:"loss"` // what a crash meanwhile loses, in sentences
	Below   []string         `json:"below"`
	Servers []string         `json:"servers"`
	Kept    []string         `json:"kept"`  // settings that stay as they are, and why
	After   []string         `json:"after"` // what should follow the load
	Reboot  string           `json:"reboot"`
}

// BoostValueJSON is a value that is set for a while.
type BoostValueJSON struct {
	Knob string `json:"knob"`
	From string `json:"from"`
	To   string `json:"to"`
	Why  string `json:"why,omitempty"`
}

// BoostDocument makes the document of a boost that was not begun.
func BoostDocument(p boost.Plan, d change.Draft, unit bool) BoostJSON {
	doc := BoostJSON{Plumb: 1, Kind: "boost", Of: p.Of.String(), Seconds: p.For.Seconds(), Values: []BoostValueJSON{}, Loss: page.NotNil(p.Loss),
		Below: page.NotNil(p.Below), Servers: page.NotNil(names(p.Servers)), Kept: page.NotNil(p.Kept), After: page.NotNil(p.After), Reboot: reboot(d, unit)}
	for _, s := range d.Steps {
		doc.Values = append(doc.Values, BoostValueJSON{s.Knob.String(), s.Now.String(), s.To.String(), s.Because})
	}
	return doc
}

// BoostPlan says what will be set, for how long, and what a crash meanwhile loses.
func BoostPlan(p boost.Plan, d change.Draft, unit bool, screen page.Screen) string {
	o := page.NewPage(screen)
	o.Para(page.Bold, 0, fmt.Sprintf("%s, for at most %s:", p.Of, units.Short(p.For)))
	for _, s := range d.Steps {
		text := fmt.Sprintf("%s: %s, now %s", s.Knob.Name, catalog.Show(s.Want.Fact, s.To), catalog.Show(s.Want.Fact, s.Now))
		if s.Because != "" {
			text += ": " + s.Because
		}
		o.Hang(page.Normal, "  ", text)
	}
	for _, r := range d.Refused {
		o.Hang(page.Dim, "  ", fmt.Sprintf("%s is left as it is: %s", r.Knob.Name, r.Reason))
	}
	for _, k := range p.Kept {
		o.Hang(page.Dim, "  ", k)
	}
	if len(p.Below) > 0 {
		o.Para(page.Normal, 0, "It also applies to what is below: "+strings.Join(p.Below, ", ")+".")
	}
	if len(p.Servers) > 0 && p.Of.Kind == "dataset" {
		o.Para(page.Normal, 0, "It has files of "+strings.Join(names(p.Servers), ", ")+".")
	}
	o.Para(page.Yellow, 0, "What a crash during this time loses:")
	for _, l := range p.Loss {
		o.Hang(page.Normal, "  - ", l)
	}
	o.Para(page.Normal, 0, "The earlier values are restored when the command ends, when the time is over, and when Plumb is killed; what somebody else changes meanwhile is left as it is. "+reboot(d, unit))
	return o.String()
}

// reboot says what becomes of the values when the machine goes down meanwhile.
func reboot(d change.Draft, unit bool) string {
	switch {
	case !boost.Lasts(d):
		return "A restart of the server or of the machine restores them too."
	case unit:
		return "After a reboot, a unit restores them before the servers start."
	}
	return "After a reboot nothing restores them, because there is no systemd here: use plumb undo."
}

// BoostOutcome says what became of it.
func BoostOutcome(p boost.Plan, r boost.Result, screen page.Screen) string {
	o := page.NewPage(screen)
	text := fmt.Sprintf("%s is as it was before. The command took %s", p.Of, units.Span(r.Took))
	if r.Code != 0 {
		text += fmt.Sprintf(" and ended with status %d", r.Code)
	}
	o.Para(page.Normal, 0, text+".")
	if r.Over {
		o.Para(page.Yellow, 0, fmt.Sprintf("The time of %s was over before that: the rest of the command ran with the old values.", units.Short(p.For)))
	}
	for _, l := range r.Left {
		o.Para(page.Yellow, 0, "Somebody changed it meanwhile, so it was left as it is: "+l+".")
	}
	switch {
	case r.Synced:
		o.Para(page.Normal, 0, "Everything written until now is on disk.")
	case p.Of.Kind == "dataset":
		o.Para(page.Yellow, 0, "Whether everything written is on disk is not known (this ZFS has no zpool sync): it is after the next transaction group.")
	}
	for _, a := range p.After {
		o.Para(page.Normal, 0, "Next: "+a+".")
	}
	return o.String()
}

func names(refs []stack.Ref) (all []string) {
	for _, r := range refs {
		all = append(all, r.String())
	}
	return all
}
