package playbook

import (
	"cmp"
	"fmt"
	"strings"
)

// ansible writes a playbook that hands the plan to plumb, and has tasks of
// modules for hosts that do not have it.
func (b *playbook) ansible() string {
	var w yamlWriter
	w.WriteString("---\n" + comments(append(b.head("ansible"), "",
		"ansible-playbook FILE               applies it; --check only shows what plumb would do",
		"ansible-playbook FILE --tags undo   takes it back; leaves what others changed since",
		"-e restart=true also restarts what values wait for, -e force=true undoes what others changed too, -e target=GROUP names the hosts, -e plumb=PATH the program.",
		"A host without plumb gets what modules can do (ansible.posix, community.general, community.mysql, community.postgresql); they record nothing, so nothing can be undone there.")))
	w.item(0, mapping{{"name", "What plumb fix does on " + b.on()}, {"hosts", template("{{ target | default('" + hostWord(b.Plan.Host) + "') }}")},
		{"become", true}, {"gather_facts", false},
		{"vars", mapping{{"plumb", "plumb"}, {"options", []string{}}, {"restart", false}, {"force", false}, {"fix", b.fix()}, {"plan", block(b.carried)}}}})
	w.WriteString("  tasks:\n")
	w.task("Look for plumb", []string{"always"}, pair{"ansible.builtin.command", mapping{{"argv", template("{{ [plumb, 'version'] }}")}}},
		pair{"register", "there"}, pair{"failed_when", false}, pair{"changed_when", false}, pair{"check_mode", false})
	w.task("Apply the plan", []string{"apply"}, pair{"ansible.builtin.command", mapping{
		{"argv", template("{{ [plumb] + fix + (['--dry-run'] if ansible_check_mode else []) + (['--restart'] if restart | bool else []) + options }}")}, {"stdin", alias("plan")}}},
		pair{"register", "fixed"}, pair{"changed_when", "not ansible_check_mode and 'Nothing to do' not in fixed.stdout"}, pair{"check_mode", false}, pair{"when", "there.rc == 0"})
	w.task("Take it back", []string{"undo", "never"}, pair{"ansible.builtin.command", mapping{
		{"argv", template("{{ [plumb, 'undo', '--plan', '-', '--yes'] + (['--dry-run'] if ansible_check_mode else []) + (['--force'] if force | bool else []) + options }}")}, {"stdin", alias("plan")}}},
		pair{"register", "undone"}, pair{"changed_when", "not ansible_check_mode and 'Nothing to undo' not in undone.stdout"}, pair{"check_mode", false}, pair{"when", "there.rc == 0"})
	b.without(&w)
	return w.String()
}

// without writes what a host gets that has no plumb.
func (b *playbook) without(w *yamlWriter) {
	absent := pair{"when", "there.rc != 0"}
	var left, was []string
	for _, s := range b.Draft.Steps {
		name := s.Knob.Of.String() + " " + b.Name(s.Knob.Of.Kind, s.Knob.Name)
		was = append(was, oneLineOf(name+" was "+b.from(s)))
		for i, a := range s.Recipe.Acts {
			switch m, ok := moduleOf(s, i); {
			case m.name != "":
				// Named so, a module is looked for only when it is needed: a control host without its collection plays the rest.
				w.task(b.title(s), []string{"apply"}, pair{"action", append(mapping{{"module", m.name}}, m.args...)}, absent)
			case !ok:
				left = append(left, oneLineOf(name+": "+inWords(a)))
			}
		}
		if s.Recipe.Waits != "" {
			left = append(left, oneLineOf(name+": in force after "+s.Recipe.Waits))
		}
	}
	if len(left) > 0 {
		w.task("Say what no module does", []string{"apply"}, pair{"ansible.builtin.debug", mapping{{"msg", left}}}, absent)
	}
	w.task("Say that nothing is taken back without plumb", []string{"undo", "never"},
		pair{"ansible.builtin.fail", mapping{{"msg", fmt.Sprintf("plumb is not on this host, so set back by hand: %s", strings.Join(was, "; "))}}}, absent)
}

// hostWord gives the name of a host without what no name holds: it may come
// from a stranger's plan. Without a name all hosts are meant.
func hostWord(name string) string {
	return cmp.Or(strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return -1
	}, name), "all")
}
