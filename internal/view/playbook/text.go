package playbook

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/view/picture"
)

// Forms lists the forms in which fix can write a plan for other tools.
func Forms() []string { return []string{"ansible", "shell"} }

// Emission is what is written for other tools.
type Emission struct {
	Draft       change.Draft
	Plan        advise.Plan
	AllowUnsafe []string // the knobs for which less durability was allowed
}

// Text writes a plan for other tools: an Ansible playbook, or a POSIX script.
// Both carry the plan, and have plumb fix apply it on the host and plumb undo
// take it back: who has Plumb there has its journal too. For a host without
// it the playbook has tasks of Ansible's modules, and both say the rest in words.
func Text(form string, e Emission, cat *catalog.Catalog) (string, error) {
	b := &playbook{Facts: picture.Facts{Cat: cat}, Emission: e}
	if err := b.carry(); err != nil {
		return "", err
	}
	switch form {
	case "shell":
		return b.shell(), nil
	case "ansible":
		return b.ansible(), nil
	}
	return "", fmt.Errorf("%q is not a form of a playbook: want one of %s", form, strings.Join(Forms(), ", "))
}

// playbook is one plan written for other tools.
type playbook struct {
	picture.Facts
	Emission
	carried string // the plan's file
}

// carry writes the plan's file, without the steps that were refused or have
// nothing to do. It is ASCII, for what some readers take for the end of a line
// is none in JSON.
func (b *playbook) carry() error {
	p := b.Plan
	p.Steps = slices.DeleteFunc(slices.Clone(p.Steps), func(s advise.Step) bool {
		return !slices.ContainsFunc(b.Draft.Steps, func(d change.Prepared) bool { return d.Knob == s.Knob })
	})
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("write the plan for other tools: %w", err)
	}
	var ascii strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x7f:
			ascii.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&ascii, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&ascii, `\u%04x\u%04x`, high, low)
		}
	}
	b.carried = ascii.String() + "\n"
	return nil
}

// on names the host.
func (b *playbook) on() string { return cmp.Or(b.Plan.Host, "this host") }

// fix gives the arguments of plumb fix, but for those of the moment.
func (b *playbook) fix() []string {
	argv := []string{"fix", "-", "--yes"}
	for _, k := range b.AllowUnsafe {
		argv = append(argv, "--allow-unsafe", k)
	}
	return argv
}

// head says what the text is, in lines of their own.
func (b *playbook) head(form string) []string {
	name := b.on()
	if !b.Plan.TakenAt.IsZero() {
		name += " as it was at " + units.Minute(b.Plan.TakenAt)
	}
	lines := []string{fmt.Sprintf("Written by plumb fix --emit %s for %s.", form, name),
		"It contains the plan. plumb fix applies it, but refuses it on another host, or if a value has changed since the plan was made; plumb undo reverts it.", ""}
	for i, s := range b.Draft.Steps {
		lines = append(lines, fmt.Sprintf("%2d %s", i+1, b.title(s)))
		for _, l := range b.remarks(s) {
			lines = append(lines, "   "+l)
		}
	}
	for _, r := range b.Draft.Refused {
		lines = append(lines, "", fmt.Sprintf("Not in here: %s = %s: %s", r.Knob, b.Show(r.Knob.Of.Kind, r.Knob.Name, r.To), r.Reason))
	}
	return lines
}

// comments writes lines as comments.
func comments(lines []string) string {
	var out strings.Builder
	for _, text := range lines {
		indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
		for _, l := range page.Wrap(oneLineOf(text), 86) {
			out.WriteString(strings.TrimRight("# "+indent+l, " ") + "\n")
		}
	}
	return out.String()
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

func oneLineOf(s string) string { return strings.Join(strings.Fields(page.Clean(s)), " ") }
