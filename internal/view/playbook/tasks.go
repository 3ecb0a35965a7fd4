package playbook

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/view/page"
)

// step writes the tasks that do one step.
func (t *tasks) step(n int, s change.Prepared) {
	t.comment(4, fmt.Sprintf("Step %d: %s", n, t.title(s)))
	for _, l := range t.remarks(s) {
		t.comment(4, "  "+l)
	}
	name := fmt.Sprintf("%d %s = %s", n, t.Name(s.Knob.Of.Kind, s.Knob.Name), t.Show(s.Knob.Of.Kind, s.Knob.Name, s.To))
	if len(s.Why) > 0 {
		name += " (" + strings.Join(s.Why, ", ") + ")"
	}
	var merged []int // edits whose module switches as well
	for i := range s.Recipe.Acts {
		merged = append(merged, mergedInto(s, i))
	}
	for i, a := range s.Recipe.Acts {
		if a.Edit != nil {
			live := slices.Contains(merged, i)
			t.edit(fmt.Sprintf("%d_%d", n, i+1), name+", in "+a.Edit.File, a.Edit, live)
			continue
		}
		for _, w := range t.switches {
			if w.Switch == a.Switch && !w.merged {
				t.turn(name, w)
			}
		}
	}
}

// edit writes the task that edits a file.
func (t *tasks) edit(id, name string, e *change.Edit, live bool) {
	m, ok := editModule(e, live)
	if ok {
		tail := []pair{{m.name, m.args}, {"register", "edit_" + id}}
		t.task(apply, name, tail...)
	} else {
		t.editByAwk(id, name, e)
	}
	if e.Apply != nil {
		t.task(apply, "Make the change of "+e.File+" known", append(t.op(*e.Apply, ""), pair{"when", "edit_" + id + " is changed"})...)
	}
}

// editByAwk is for files in which no module changes one value alone.
func (t *tasks) editByAwk(id, name string, e *change.Edit) {
	var env mapping
	program := "{{ line_awk }}"
	if e.Form == edit.Mongod {
		raw, err := yamlRaw(e)
		t.err = cmp.Or(t.err, err)
		env, program = mapping{{"KEY", e.Key}, {"RAW", raw}}, "{{ yaml_awk }}"
	} else {
		l, err := lineEditOf(e)
		t.err = cmp.Or(t.err, err)
		env = mapping{{"SECTION", l.section}, {"BEFORE", l.before}, {"VALUE", l.value}, {"RAW", l.raw}, {"LINE", l.line}}
	}
	t.task(apply, "Work out "+e.File+" with "+e.Key+" = "+e.Value, pair{"ansible.builtin.shell", mapping{{"cmd", template("test -e " + jinjaText(page.Shell(e.File)) + " || exec </dev/null; " +
		"awk {{ program | quote }} $(ls " + jinjaText(page.Shell(e.File)) + " 2>/dev/null)")}}}, pair{"vars", mapping{{"program", template(program)}}},
		pair{"environment", env}, pair{"register", "text_" + id}, pair{"changed_when", false}, pair{"check_mode", false})
	args := mapping{{"dest", e.File}, {"content", template("{{ text_" + id + ".stdout }}\n")}, {"follow", true}}
	if e.Ours {
		args = append(args, pair{"mode", "0644"})
	}
	t.task(apply, name, pair{"ansible.builtin.copy", args}, pair{"register", "edit_" + id})
}

// turn writes the tasks of one switch.
func (t *tasks) turn(name string, w turning) {
	state := "states[" + jinjaString(w.On) + "]"
	var done []string
	for _, d := range w.done {
		done = append(done, jinjaString(d))
	}
	when := pair{"when", state + " not in [" + strings.Join(done, ", ") + "]"}
	if w.Guard != nil {
		t.task(apply, "See that enough memory is available", pair{"ansible.builtin.shell", mapping{{"cmd",
			fmt.Sprintf(`awk '$1 == "MemAvailable:" && $2 * 1024 < %d { exit 1 }' /proc/meminfo`, w.Guard.MemAvailable)}}}, pair{"changed_when", false}, when)
	}
	if m, ok := moduleOf(w.Switch); ok {
		t.task(apply, name, pair{m.name, m.args}, when)
	} else {
		for _, o := range w.Do {
			t.task(apply, name, append(t.op(o, ""), when)...)
		}
	}
	t.task(apply, "See that it took", pair{"ansible.builtin.shell", mapping{{"cmd", t.look(w.Look)}}}, pair{"register", "took"},
		pair{"until", "took.stdout | trim == " + jinjaString(w.After)}, pair{"retries", max(1, seconds(w.Switch))}, pair{"delay", 1},
		pair{"failed_when", "took.rc != 0 or took.stdout | trim == " + state}, pair{"changed_when", false}, when)
}

// op gives one operation as an entry of a task. place is where the state
// before was read, for those of an undo.
func (t *tasks) op(o change.Op, place string) []pair {
	text := ""
	fill := func(s, engine string) string { return jinjaFilled(s, engine, place) }
	switch {
	case o.Write != nil:
		text = "printf '%s\\n' " + fill(o.Write.Text, "") + " >" + jinjaText(page.Shell(o.Write.File))
	case o.Statement != "" && o.Target != nil:
		text = jinjaText(t.client(o.Target)) + " " + t.statement(o.Target, fill(o.Statement, o.Target.Engine))
	default:
		words := make([]string, len(o.Argv))
		for i, w := range o.Argv {
			words[i] = fill(w, "")
		}
		text = strings.Join(words, " ")
	}
	return []pair{{"ansible.builtin.shell", mapping{{"cmd", template(text)}}}, {"changed_when", true}}
}

// restarts writes the restarts that values wait for, each once.
func (t *tasks) restarts() {
	var seen []string
	for _, s := range t.draft.Steps {
		w := oneLineOf(s.Recipe.Waits)
		if w == "" || slices.Contains(seen, w) {
			continue
		}
		seen = append(seen, w)
		if s.Recipe.Restart == nil {
			t.task(apply, "Say what is still to be done", pair{"ansible.builtin.debug", mapping{{"msg", "In force only after " + w + "."}}})
			continue
		}
		for _, o := range s.Recipe.Restart {
			entries := t.op(o, "")
			if len(o.Argv) == 3 && o.Argv[0] == "systemctl" && o.Argv[1] == "restart" {
				entries = []pair{{"ansible.builtin.systemd_service", mapping{{"name", o.Argv[2]}, {"state", "restarted"}}}}
			}
			t.task(apply, strings.ToUpper(w[:1])+w[1:], append(entries, pair{"when", "restart | bool"})...)
		}
	}
}

// after notes how everything was left, so that undo sees what others change.
func (t *tasks) after() {
	t.read(apply, "not ansible_check_mode", "looked_after", "seen_after")
	t.task(apply, "Note how it was left", pair{"ansible.builtin.copy", mapping{{"content", template("{{ {'states': states_after, 'sums': sums_after} | to_json }}\n")},
		{"dest", template("{{ state }}/left.json")}, {"mode", "0600"}}}, pair{"vars", mapping{{"states_after", template(statesOf("looked_after"))}, {"sums_after", template(sumsOf("seen_after"))}}},
		pair{"when", "not ansible_check_mode"})
}

// undo writes the tasks that take everything back, the last step first.
func (t *tasks) undo() {
	t.comment(4, "What follows takes it back, the last step first.")
	t.task(undo, "Restore the files", pair{"ansible.builtin.copy", mapping{{"remote_src", true}, {"src", template("{{ state }}/{{ item | hash('sha256') }}")},
		{"dest", template("{{ item }}")}, {"mode", "preserve"}, {"follow", true}}}, pair{"loop", template("{{ edited | difference(drifted) }}")},
		pair{"when", []string{"kept | length > 0", "kept.sums[item] != 'none'", "sums[item] != kept.sums[item]"}}, pair{"register", "restored"})
	t.task(undo, "Remove the files that were not there", pair{"ansible.builtin.file", mapping{{"path", template("{{ item }}")}, {"state", "absent"}}},
		pair{"loop", template("{{ edited | difference(drifted) }}")}, pair{"when", []string{"kept | length > 0", "kept.sums[item] == 'none'"}}, pair{"register", "removed"})
	var done []string
	for _, s := range slices.Backward(t.draft.Steps) {
		for _, a := range slices.Backward(s.Recipe.Acts) {
			if a.Edit != nil && a.Edit.Apply != nil && !slices.Contains(done, a.Edit.Apply.String()) {
				done = append(done, a.Edit.Apply.String())
				t.task(undo, "Make the change of files known", append(t.op(*a.Edit.Apply, ""), pair{"when", "restored is changed or removed is changed"})...)
			}
		}
	}
	var places []string
	for _, w := range slices.Backward(t.switches) {
		if !slices.Contains(places, w.On) {
			places = append(places, w.On)
			t.turnBack(w)
		}
	}
	t.task(undo, "Say what was left as others set it", pair{"ansible.builtin.fail", mapping{{"msg", template("left as others set it: {{ drifted | join(', ') }}. -e force=true takes it back too")}}},
		pair{"when", []string{"kept | length > 0", "drifted | length > 0"}})
	t.task(undo, "Forget what was kept", pair{"ansible.builtin.file", mapping{{"path", template("{{ state }}")}, {"state", "absent"}}})
}

// turnBack writes the tasks that bring one switch back.
func (t *tasks) turnBack(w turning) {
	place := jinjaString(w.On)
	when := []string{"kept | length > 0", "states[" + place + "] != kept.states[" + place + "]", place + " not in drifted"}
	name := fmt.Sprintf("%d back: %s", w.step, w.On)
	if w.UndoNone != nil {
		for _, o := range w.UndoNone {
			t.task(undo, name, append(t.op(o, w.On), pair{"when", append(slices.Clone(when), "kept.states["+place+"] == '(none)'")})...)
		}
		when = append(when, "kept.states["+place+"] != '(none)'")
	}
	for _, o := range w.Undo {
		t.task(undo, name, append(t.op(o, w.On), pair{"when", when})...)
	}
}

// jinjaString writes a text as a string of Jinja.
func jinjaString(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`, "\t", `\t`).Replace(s) + "'"
}

// jinjaText keeps Jinja from reading a text as a template.
func jinjaText(s string) string {
	return strings.NewReplacer("{{", "{{ '{{' }}", "{%", "{{ '{%' }}", "{#", "{{ '{#' }}").Replace(s)
}

// jinjaFilled quotes a text for the shell, with the state kept of a place
// where the state before stands.
func jinjaFilled(text, engine, place string) string {
	state := "kept.states[" + jinjaString(place) + "]"
	quoted := state + ` | replace("'", "''")`
	if engine == "mysql" {
		quoted += ` | replace("\\", "\\\\")`
	}
	var b strings.Builder
	for text != "" {
		i := strings.Index(text, "{before")
		switch {
		case i > 0:
			b.WriteString(jinjaText(page.Shell(text[:i])))
			text = text[i:]
		case strings.HasPrefix(text, "{before}"):
			b.WriteString("{{ " + state + " | quote }}")
			text = text[len("{before}"):]
		case strings.HasPrefix(text, "{before:sql}"):
			b.WriteString(`{{ ("'" ~ (` + quoted + `) ~ "'") | quote }}`)
			text = text[len("{before:sql}"):]
		default:
			b.WriteString(jinjaText(page.Shell(text)))
			text = ""
		}
	}
	return cmp.Or(b.String(), "''")
}
