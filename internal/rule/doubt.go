package rule

import (
	"strings"

	"plumb/internal/catalog"
)

// Doubt is a setting in force that is not safe everywhere, and of which a rule
// could not say whether it is safe here, because what it would have to look at
// was not found.
type Doubt struct {
	Evidence
	Class  string   // of the value in force, as the catalogue has it
	Remedy []Remedy // what the rule would set it to
}

// doubts lists the settings that keep a rule about lost data from being quiet
// where a link is unknown: a data directory that could not be placed must not
// hide a setting that is dangerous on most filesystems. The condition does not
// rule the setting out, or the verdict would be quiet.
func (r *Rule) doubts(b things) []Doubt {
	if r.Harm != Danger || prepared(r.speak) != nil {
		return nil
	}
	var out []Doubt
	seen := map[string]bool{}
	for _, u := range r.when.uses {
		if u.fact == nil || b[u.name] == nil {
			continue
		}
		f, known := b[u.name].Facts[u.fact.Name]
		if !known || seen[u.name+"."+u.fact.Name] {
			continue
		}
		class := u.fact.Durability(f.Value)
		if class != catalog.MayCorrupt && !strings.HasPrefix(class, catalog.Conditional) {
			continue
		}
		seen[u.name+"."+u.fact.Name] = true
		d := Doubt{Evidence: Evidence{Of: b[u.name].Ref, Name: u.fact.Name, Fact: f}, Class: class}
		for _, m := range r.remediesFor(b) {
			if m.Knob.Of == d.Of && m.Knob.Name == d.Name {
				d.Remedy = append(d.Remedy, m)
			}
		}
		out = append(out, d)
	}
	return out
}
