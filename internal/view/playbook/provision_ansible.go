package playbook

import (
	"fmt"
	"strings"
)

// Ansible writes a plan as a playbook for hosts without plumb: one task for each act, in the words of
// the script. No module edits files to the byte, or proves a disk empty.
func (p Provisioning) Ansible() (string, error) {
	w, err := p.write()
	if err != nil {
		return "", err
	}
	var y yamlWriter
	y.WriteString("---\n" + comments(append(w.head("ansible"), "",
		"ansible-playbook FILE           does it; --check only says what it would do, and fails where something cannot be read",
		"-e target=GROUP names the hosts. It needs no collection.",
		"Nothing is taken back by it: who wants that has plumb provision do it.")))
	texts := mapping{{"library", block(library)}, {"known", block(known)}}
	type task struct{ stage, title, name, owed string }
	var tasks []task
	for i, s := range w.stages {
		for j, a := range s.acts {
			name := fmt.Sprintf("act_%d_%d", i+1, j+1)
			texts = append(texts, pair{name, carried(a.text)})
			tasks = append(tasks, task{s.Name, a.title, name, s.owed})
		}
	}
	y.item(0, mapping{{"name", "What plumb provision does on " + oneLineOf(w.Host)}, {"hosts", template("{{ target | default('" + hostWord(w.Host) + "') }}")},
		{"become", true}, {"gather_facts", false}, {"vars", texts}})
	y.WriteString("  tasks:\n")
	for _, t := range tasks {
		y.task(t.stage+": "+t.title, []string{"apply"},
			pair{"ansible.builtin.shell", mapping{{"cmd", template("{{ 'set -eu; LC_ALL=C; export LC_ALL; owed=" + t.owed + "; ' + library + " + t.name + " + known }}")}, {"executable", "/bin/sh"}}},
			pair{"environment", mapping{{"PLUMB_DRY", template("{{ ansible_check_mode | ternary('1', '') }}")}}},
			pair{"register", "done"}, pair{"check_mode", false},
			pair{"changed_when", "'changing: ' in (done.stdout | default('')) or 'would change: ' in (done.stdout | default(''))"})
	}
	if len(w.left) > 0 {
		y.task("Say what is left to plumb", []string{"apply"}, pair{"ansible.builtin.fail", mapping{{"msg", oneLineOf("not done here: " + strings.Join(w.left, "; "))}}})
	}
	return y.String(), nil
}

// carried is a text as YAML gives it back to the byte: of a block it takes some bytes for ends of lines.
func carried(text string) any {
	if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && (r < ' ' || r > '~') }) >= 0 {
		return text
	}
	return block(text)
}
