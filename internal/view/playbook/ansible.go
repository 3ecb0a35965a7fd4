package playbook

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/view/page"
)

// tasks is a playbook that is being written.
type tasks struct {
	*playbook
	yamlWriter
	files    []string // that are edited, each once
	switches []turning
	uses     map[edit.Form]bool // forms for which awk makes the new text
	err      error
}

// turning is a switch with its number.
type turning struct {
	step int
	*change.Switch
	done   []string // states in which nothing is left to do: its own, and those of later ones in its place
	merged bool     // its edit's module does it too
}

// Tags of tasks.
var (
	always = []string{"apply", "undo"}
	apply  = []string{"apply"}
	undo   = []string{"undo", "never"}
)

// ansible writes the plan as a playbook. What is found is kept before the
// first change, in a directory on each host.
func (b *playbook) ansible() (string, error) {
	t := &tasks{playbook: b, uses: map[edit.Form]bool{}}
	t.survey()
	body := &tasks{playbook: b, files: t.files, switches: t.switches, uses: t.uses}
	body.before()
	for i, s := range b.draft.Steps {
		body.step(i+1, s)
	}
	body.restarts()
	body.after()
	body.undo()
	if err := cmp.Or(t.err, body.err); err != nil {
		return "", err
	}
	t.write("---")
	for _, l := range b.head("ansible") {
		t.comment(0, l)
	}
	t.comment(0, "\nansible-playbook FILE                   applies it\nansible-playbook FILE -e restart=true   also restarts what values wait for\n"+
		"ansible-playbook FILE --tags undo       takes it back; leaves what others changed since, unless -e force=true\n"+
		"-e target=GROUP names the hosts. Collections: ansible.posix, community.general and community.mysql.")
	t.item(0, mapping{{"name", "What plumb fix does on " + cmp.Or(b.host, "this host")},
		{"hosts", template("{{ target | default('" + hostWord(b.host) + "') }}")},
		{"become", true}, {"gather_facts", false}, {"vars", t.vars()}})
	t.line(2, "tasks:")
	t.WriteString(body.String())
	return t.String(), nil
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

func (t *tasks) write(s string) { t.line(0, s) }

// survey lists what is edited and switched.
func (t *tasks) survey() {
	for i, s := range t.draft.Steps {
		for j, a := range s.Recipe.Acts {
			if a.Edit != nil {
				if !slices.Contains(t.files, a.Edit.File) {
					t.files = append(t.files, a.Edit.File)
				}
				if _, ok := editModule(a.Edit, false); !ok {
					t.uses[a.Edit.Form] = true
				}
				continue
			}
			t.switches = append(t.switches, turning{step: i + 1, Switch: a.Switch, done: doneIn(s, j), merged: mergedInto(s, j) >= 0})
		}
	}
}

// mergedInto gives the edit of a step that the sysctl module does together
// with a write to /proc/sys; -1 when there is none.
func mergedInto(s change.Prepared, act int) int {
	w := s.Recipe.Acts[act].Switch
	if w == nil || len(w.Do) != 1 || w.Do[0].Write == nil {
		return -1
	}
	name, ok := strings.CutPrefix(w.Do[0].Write.File, "/proc/sys/")
	return slices.IndexFunc(s.Recipe.Acts, func(a change.Act) bool {
		return ok && a.Edit != nil && a.Edit.Form == edit.Sysctl && strings.ReplaceAll(name, "/", ".") == a.Edit.Key
	})
}

// vars are what the tasks share.
func (t *tasks) vars() mapping {
	v := mapping{
		{"force", false}, {"restart", false},
		{"state", "/var/lib/plumb-playbook/" + t.id},
		{"edited", t.files},
		{"switches", t.looks()},
		{"kept", template("{{ (kept_file.content | b64decode | from_json) if kept_file.content is defined else {} }}")},
		{"left", template("{{ (left_file.content | b64decode | from_json) if left_file.content is defined else {} }}")},
		{"states", template(statesOf("looked"))},
		{"sums", template(sumsOf("seen"))},
		{"same_files", template("{{ sums | dict2items | intersect((kept.sums | dict2items) + (left.sums | dict2items)) | map(attribute='key') | list }}")},
		{"same_states", template("{{ states | dict2items | intersect((kept.states | dict2items) + (left.states | dict2items)) | map(attribute='key') | list }}")},
		{"drifted", template("{{ [] if (force | bool) or (left | length == 0) else ((edited + (states.keys() | list)) | difference(same_files + same_states)) }}")},
	}
	for form := range t.uses {
		if form == edit.Mongod {
			v = append(v, pair{"yaml_awk", block(yamlAwk)})
		} else if !slices.ContainsFunc(v, func(p pair) bool { return p.key == "line_awk" }) {
			v = append(v, pair{"line_awk", block(lineAwk)})
		}
	}
	return v
}

// statesOf and sumsOf make a dictionary of what a loop has read.
func statesOf(register string) string {
	return "{{ dict(" + register + ".results | map(attribute='item.place') | zip(" + register +
		".results | map(attribute='stdout') | map('trim') | map('regex_replace', '^(NULL)?$', '(none)'))) }}"
}

func sumsOf(register string) string {
	return "{{ dict(" + register + ".results | map(attribute='item') | zip(" + register + ".results | map(attribute='stat.checksum', default='none'))) }}"
}

// looks are the commands that read the states.
func (t *tasks) looks() any {
	if len(t.switches) == 0 {
		return []string{}
	}
	var all []mapping
	var places []string
	for _, w := range t.switches {
		if !slices.Contains(places, w.On) {
			places = append(places, w.On)
			all = append(all, mapping{{"place", w.On}, {"look", t.look(w.Look)}})
		}
	}
	return all
}

// look gives the command that reads a state.
func (t *tasks) look(l change.Look) string {
	switch {
	case l.File != "" && l.Match != "":
		return "sed -nE " + page.Shell(matchScript(l.Match)) + " " + page.Shell(l.File) + " | tail -n 1 | grep . || echo '(none)'"
	case l.File != "" && l.Choice:
		return "sed 's/^[^[]*\\[\\([^]]*\\)\\].*/\\1/' " + page.Shell(l.File)
	case l.File != "":
		return "if [ -e " + page.Shell(l.File) + " ]; then cat " + page.Shell(l.File) + "; else echo '(none)'; fi"
	case l.Argv != nil:
		return command(l.Argv)
	case l.Target != nil:
		return t.client(l.Target) + " " + t.statement(l.Target, page.Shell(l.Query))
	}
	t.err = cmp.Or(t.err, fmt.Errorf("an act does not say how its state is read"))
	return ""
}

// ansibleClients are the clients as a playbook calls them.
var ansibleClients = clients{mysql: "mysql", psql: "psql", mongosh: "mongosh", owned: `runuser -u "$(stat -L -c %%U %[1]s)" --`}

// client gives the command to which a statement is added.
func (t *tasks) client(target *host.Target) string {
	text, err := reach(*target, ansibleClients)
	t.err = cmp.Or(t.err, err)
	return text
}

func (t *tasks) statement(target *host.Target, quoted string) string {
	return wrapped(target.Engine, quoted)
}

// task writes one task.
func (t *tasks) task(tags []string, name string, m ...pair) {
	t.item(4, append(append(mapping{{"name", oneLineOf(name)}}, m...), pair{"tags", tags}))
	t.WriteString("\n")
}

// read reads states and sums into variables of the names given.
func (t *tasks) read(tags []string, when string, looked, seen string) {
	cond := []pair{}
	if when != "" {
		cond = append(cond, pair{"when", when})
	}
	t.task(tags, "Read what is set", append([]pair{{"ansible.builtin.shell", mapping{{"cmd", template("{{ item.look }}")}}}, {"loop", template("{{ switches }}")},
		{"loop_control", mapping{{"label", template("{{ item.place }}")}}}, {"register", looked}, {"changed_when", false}, {"check_mode", false}}, cond...)...)
	t.task(tags, "Read the files", append([]pair{{"ansible.builtin.stat", mapping{{"path", template("{{ item }}")}, {"checksum_algorithm", "sha256"}, {"follow", true}}},
		{"loop", template("{{ edited }}")}, {"register", seen}}, cond...)...)
}

// before keeps what is found, before anything is changed.
func (t *tasks) before() {
	for _, name := range []string{"kept", "left"} {
		t.task(always, "Read what an earlier run "+name, pair{"ansible.builtin.slurp", mapping{{"src", template("{{ state }}/" + name + ".json")}}},
			pair{"register", name + "_file"}, pair{"failed_when", name + "_file.content is not defined and 'not found' not in " + name + "_file.msg | default('')"})
	}
	t.read(always, "", "looked", "seen")
	t.task(apply, "See that nobody changed what an earlier run set", pair{"ansible.builtin.assert", mapping{{"that", "edited | intersect(drifted) | length == 0"},
		{"fail_msg", template("changed since by somebody: {{ drifted | join(', ') }}. Undo first, or give -e force=true")}}}, pair{"when", "kept | length > 0"})
	t.task(apply, "Make the directories", pair{"ansible.builtin.file", mapping{{"path", template("{{ item }}")}, {"state", "directory"}, {"mode", "0700"}}},
		pair{"loop", []template{"{{ state | dirname }}", "{{ state }}"}}, pair{"when", "kept | length == 0"})
	t.task(apply, "Keep the files as they are", pair{"ansible.builtin.copy", mapping{{"remote_src", true}, {"src", template("{{ item }}")},
		{"dest", template("{{ state }}/{{ item | hash('sha256') }}")}, {"mode", "preserve"}}},
		pair{"loop", template("{{ edited | reject('in', absent) | list }}")}, pair{"vars", mapping{{"absent", template("{{ sums | dict2items | selectattr('value', 'eq', 'none') | map(attribute='key') | list }}")}}},
		pair{"when", "kept | length == 0"})
	t.task(apply, "Keep what is set", pair{"ansible.builtin.copy", mapping{{"content", template("{{ {'states': states, 'sums': sums} | to_json }}\n")},
		{"dest", template("{{ state }}/kept.json")}, {"mode", "0600"}}}, pair{"when", "kept | length == 0"})
	for _, dir := range t.dirs() {
		t.task(apply, "Make "+dir, pair{"ansible.builtin.file", mapping{{"path", dir}, {"state", "directory"}}})
	}
}

// dirs lists the directories of files.
func (t *tasks) dirs() []string {
	var out []string
	for _, f := range t.files {
		if dir := path.Dir(f); dir != "/etc" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out
}
