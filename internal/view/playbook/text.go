package playbook

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// Forms lists the forms in which fix can write a plan for other tools.
func Forms() []string { return []string{"ansible", "shell"} }

// Text writes a draft for other tools: an Ansible playbook, or a commented
// POSIX script. Both can take back what they did. Where another host had
// another value, that one comes back: what is found is kept on each host, and
// undo uses nothing else.
func Text(form string, d change.Draft, plan advise.Plan, cat *catalog.Catalog) (string, error) {
	b := &playbook{Facts: picture.FactsOf(cat), draft: d, host: plan.Host, taken: plan.TakenAt}
	var err error
	if b.id, err = draftID(d); err != nil {
		return "", err
	}
	switch form {
	case "shell":
		return b.shell()
	case "ansible":
		return b.ansible()
	}
	return "", fmt.Errorf("%q is no form of a playbook: want one of %s", form, strings.Join(Forms(), ", "))
}

// playbook is one plan written for other tools.
type playbook struct {
	picture.Facts
	draft   change.Draft
	host    string
	taken   time.Time
	id      string        // of what is set: the same plan gives the same
	targets []host.Target // servers that are asked, in the order met
}

// draftID names a draft by what it does.
func draftID(d change.Draft) (string, error) {
	var acts []change.Act
	for _, s := range d.Steps {
		acts = append(acts, s.Recipe.Acts...)
	}
	text, err := json.Marshal(acts)
	if err != nil {
		return "", fmt.Errorf("write the plan for other tools: %w", err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(text))[:12], nil
}

// head says what the text is, in lines.
func (b *playbook) head(form string) []string {
	name := b.host
	if name == "" {
		name = "this host"
	}
	if !b.taken.IsZero() {
		name += " as it was at " + b.taken.UTC().Format("2006-01-02 15:04 UTC")
	}
	lines := []string{fmt.Sprintf("Written by plumb fix --emit %s for %s.", form, name),
		"The files named are the ones that decide there; a host that is set up otherwise may read other files. " +
			"The values found are kept on each host before they are changed, and undo brings exactly these back.", ""}
	for i, s := range b.draft.Steps {
		lines = append(lines, fmt.Sprintf("%2d %s", i+1, b.title(s)))
	}
	for _, r := range b.draft.Refused {
		lines = append(lines, "", fmt.Sprintf("Not in here: %s = %s: %s", r.Knob, b.Show(r.Knob.Of.Kind, r.Knob.Name, r.To), r.Reason))
	}
	return lines
}

// title names a step with its values.
func (b *playbook) title(s change.Prepared) string {
	return fmt.Sprintf("%s %s: %s -> %s", s.Knob.Of, b.Name(s.Knob.Of.Kind, s.Knob.Name), b.from(s), b.Show(s.Knob.Of.Kind, s.Knob.Name, s.To))
}

func (b *playbook) from(s change.Prepared) string {
	now := s.Now
	if now.IsAbsent() {
		now = s.From
	}
	if now.IsAbsent() {
		return "not known"
	}
	return b.Show(s.Knob.Of.Kind, s.Knob.Name, now)
}

// remarks are what a person should know of a step, a line each.
func (b *playbook) remarks(s change.Prepared) []string {
	var lines []string
	why := strings.ReplaceAll(s.Because, "\n", " ")
	if len(s.Why) > 0 {
		why = strings.TrimSpace(why + " (" + strings.Join(s.Why, ", ") + ")")
	}
	if why != "" {
		lines = append(lines, "why: "+why)
	}
	if s.Recipe.Waits != "" {
		lines = append(lines, "in force after "+s.Recipe.Waits)
	}
	if s.Recipe.Lasts != "" {
		lines = append(lines, "persists in "+s.Recipe.Lasts)
	}
	if s.DurabilityFrom != s.DurabilityTo {
		lines = append(lines, fmt.Sprintf("durability: %s -> %s", s.DurabilityFrom, s.DurabilityTo))
	}
	for _, n := range s.Recipe.Notes {
		lines = append(lines, "note: "+n)
	}
	return lines
}

// target gives the number of a server, from 1.
func (b *playbook) target(t *host.Target) int {
	same := func(o host.Target) bool {
		return o.Engine == t.Engine && o.Network == t.Network && o.Address == t.Address
	}
	i := slices.IndexFunc(b.targets, same)
	if i < 0 {
		b.targets = append(b.targets, *t)
		return len(b.targets)
	}
	return i + 1
}

// seconds gives the time that a switch may take, rounded up.
func seconds(s *change.Switch) int64 { return (s.Patience + 999) / 1000 }

// doneIn gives the states in which nothing is left to do for a switch: its own,
// and those of later ones in the same place, as when a pool grows in steps.
func doneIn(s change.Prepared, act int) []string {
	place := s.Recipe.Acts[act].Switch.On
	var all []string
	for _, later := range s.Recipe.Acts[act:] {
		if later.Switch != nil && later.Switch.On == place {
			all = append(all, later.Switch.After)
		}
	}
	return all
}

// fileHead is what a new file begins with.
func fileHead(e *change.Edit, by string) string {
	text := "# Written by " + by + "\n"
	if e.Note != "" {
		text += "# " + oneLineOf(e.Note) + "\n"
	}
	return text
}

func oneLineOf(s string) string { return strings.Join(strings.Fields(page.Clean(s)), " ") }
