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
		"ansible-playbook FILE           does it; --check only shows what it would do, and fails if something cannot be read",
		"-e target=GROUP names the hosts. It needs no collection.",
		"It cannot undo anything: for that, run plumb provision itself.")))
	texts := mapping{{"library", block(library)}, {"known", block(known)}}
	var tasks []playTask
	for i, s := range w.stages {
		var earlier []string
		for j, a := range s.acts {
			t := playTask{title: s.Name + ": " + a.title, act: fmt.Sprintf("act_%d_%d", i+1, j+1), owed: s.owed}
			if a.restarts {
				t.earlier = earlier
			}
			texts = append(texts, pair{t.act, carried(a.text)})
			tasks, earlier = append(tasks, t), append(earlier, t.result())
		}
	}
	y.item(0, mapping{{"name", "What plumb provision does on " + oneLineOf(w.Host)}, {"hosts", template("{{ target | default('" + hostWord(w.Host) + "') }}")},
		{"become", true}, {"gather_facts", false}, {"vars", texts}})
	y.WriteString("  tasks:\n")
	for _, t := range tasks {
		t.write(&y)
	}
	if len(w.left) > 0 {
		y.task("Say what is left to plumb", []string{"apply"}, pair{"ansible.builtin.fail", mapping{{"msg", oneLineOf("not done here: " + strings.Join(w.left, "; "))}}})
	}
	return y.String(), nil
}

// playTask is the task of one act.
type playTask struct {
	title, act string
	owed       string   // the file that says that a restart is owed
	earlier    []string // of a restart, the results of what it may be owed to
}

// result is the variable that keeps what came of it.
func (t playTask) result() string { return "did_" + t.act }

// write writes it. Each task is a shell of its own: with --check, which writes down nowhere what is owed, a restart is
// told by the results of the tasks before it.
func (t playTask) write(y *yamlWriter) {
	env := mapping{{"PLUMB_DRY", template("{{ ansible_check_mode | ternary('1', '') }}")}}
	if len(t.earlier) > 0 {
		changed := strings.Join(t.earlier, ".changed | default(false) or ") + ".changed | default(false)"
		env = append(env, pair{"PLUMB_WOULD", template("{{ '" + t.owed + "' if ansible_check_mode and (" + changed + ") else '' }}")})
	}
	r := t.result()
	y.task(t.title, []string{"apply"},
		pair{"ansible.builtin.shell", mapping{{"cmd", template("{{ 'set -eu; LC_ALL=C; export LC_ALL; owed=" + t.owed + "; ' + library + " + t.act + " + known }}")}, {"executable", "/bin/sh"}}},
		pair{"environment", env}, pair{"register", r}, pair{"check_mode", false},
		pair{"changed_when", "'changing: ' in (" + r + ".stdout | default('')) or 'would change: ' in (" + r + ".stdout | default(''))"})
}

// carried is a text as YAML gives it back to the byte: of a block it takes some bytes for ends of lines.
func carried(text string) any {
	if strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && (r < ' ' || r > '~') }) >= 0 {
		return text
	}
	return block(text)
}
