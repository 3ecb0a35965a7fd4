package playbook

import (
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/view/page"
)

// What every script holds: the functions that its steps use, and the programs
// that edit files.
var (
	//go:embed library.sh
	shellLibrary string
	//go:embed line.awk
	lineAwk string
	//go:embed yaml.awk
	yamlAwk string
)

// script is a shell script that is being written.
type script struct {
	*playbook
	out strings.Builder
	err error // the first thing that cannot be written
}

// shell writes the plan as a POSIX script.
func (b *playbook) shell() (string, error) {
	s := &script{playbook: b}
	body := &script{playbook: b}
	for i, step := range b.draft.Steps {
		body.step(i+1, step)
	}
	if body.err != nil {
		return "", body.err
	}
	s.write("#!/bin/sh")
	for _, l := range b.head("shell") {
		s.comment(l)
	}
	s.comment("")
	s.comment("sh FILE apply            does it; a second time it does what is left")
	s.comment("sh FILE apply --restart  also restarts what values wait for")
	s.comment("sh FILE undo             takes it back; leaves what others changed since")
	s.write("set -eu", "")
	s.library()
	for i := range b.targets {
		s.client(i + 1)
	}
	s.out.WriteString(body.out.String())
	s.main()
	return s.out.String(), nil
}

func (s *script) write(lines ...string) {
	for _, l := range lines {
		s.out.WriteString(l + "\n")
	}
}

func (s *script) comment(text string) {
	for _, l := range page.Wrap(page.Clean(text), 78) {
		s.write(strings.TrimRight("# "+l, " "))
	}
}

// library writes what the steps use.
func (s *script) library() {
	s.write("LINE_AWK=$(cat <<'END_OF_AWK'", lineAwk+"END_OF_AWK", ")", "YAML_AWK=$(cat <<'END_OF_AWK'", yamlAwk+"END_OF_AWK", ")", "")
	s.write(strings.ReplaceAll(shellLibrary, "@ID@", s.id))
}

// client writes the function that gives a server a statement.
func (s *script) client(n int) {
	t := s.targets[n-1]
	text, err := reach(t, clients{mysql: "${MYSQL:-mysql}", psql: "${PSQL:-psql}", mongosh: "${MONGOSH:-mongosh}", owned: "owned %s"})
	s.err = cmp.Or(s.err, err)
	s.comment(cmp.Or(t.Name, t.Engine+" at "+t.Address) + ". The login is that of the client's own option or password file.")
	s.write("# shellcheck disable=SC2086 # the client may be given with options",
		fmt.Sprintf("on_%d() { %s %s; }", n, text, wrapped(t.Engine, `"$1"`)), "")
}

// clients are the words that call the clients of servers.
type clients struct {
	mysql, psql, mongosh string
	owned                string // runs a command as the owner of a socket
}

// reach gives the command that asks a server; what it is asked follows.
func reach(t host.Target, c clients) (string, error) {
	address, port := t.Address, ""
	if t.Network != "unix" {
		address, port = hostPort(t.Address)
	}
	at := page.Shell(address)
	switch {
	case t.Engine == "mysql" && t.Network == "unix":
		return c.mysql + " --batch --skip-column-names --raw --socket=" + at + " -e", nil
	case t.Engine == "mysql":
		return c.mysql + " --batch --skip-column-names --raw --protocol=tcp --host=" + at + " --port=" + page.Shell(port) + " -e", nil
	case t.Engine == "postgres":
		run, where := fmt.Sprintf(c.owned, at)+" ", " -h "+page.Shell(path.Dir(address))+" -p "+page.Shell(strings.TrimPrefix(path.Ext(address), "."))
		if t.Network != "unix" {
			run, where = "", " -h "+at+" -p "+page.Shell(port)
		}
		return run + c.psql + ` -X -A -t -q -F "$(printf '\t')" -P null=NULL -v ON_ERROR_STOP=1` + where + ` -U "${PGUSER:-postgres}" -d "${PGDATABASE:-postgres}" -c`, nil
	case t.Engine == "mongo":
		to := address
		if t.Network == "unix" {
			to = strings.ReplaceAll(address, "/", "%2F")
		} else if port != "" {
			to = t.Address
		}
		return c.mongosh + " --quiet " + page.Shell("mongodb://"+to+"/") + " --eval", nil
	}
	return "", fmt.Errorf("a script cannot ask a server of kind %s", t.Engine)
}

// wrapped makes a quoted statement one that its client understands: of a
// command to MongoDB, $only names the part of the answer that is wanted.
func wrapped(engine, quoted string) string {
	if engine != "mongo" {
		return quoted
	}
	return `'var c = '` + quoted + `'; var only = c["$only"] || []; delete c["$only"]; ` +
		`print(EJSON.stringify(only.reduce(function (d, k) { return d === null || d[k] === undefined ? null : d[k]; }, db.getSiblingDB("admin").runCommand(c))))'`
}

// step writes the functions of one step.
func (s *script) step(n int, p change.Prepared) {
	s.comment(fmt.Sprintf("Step %d: %s", n, s.title(p)))
	for _, l := range s.remarks(p) {
		s.comment("  " + l)
	}
	var apply, undo []string
	for i, a := range p.Recipe.Acts {
		id := fmt.Sprintf("%d_%d", n, i+1)
		if a.Edit != nil {
			do, back := s.edit(id, a.Edit)
			apply, undo = append(apply, do...), append(undo, back)
			continue
		}
		s.turn(id, a.Switch)
		turn := fmt.Sprintf("turn %s %d", id, seconds(a.Switch))
		for _, later := range doneIn(p, i) {
			turn += " " + page.Shell(later)
		}
		apply = append(apply, guarded(a.Switch.Guard, turn))
		undo = append(undo, fmt.Sprintf("turn_back %s %d", id, seconds(a.Switch)))
	}
	slices.Reverse(undo)
	s.write(fmt.Sprintf("step_%d() {", n), "\tsay "+page.Shell(fmt.Sprintf("%2d  %s", n, oneLineOf(s.title(p)))))
	s.body(apply)
	s.write("}", fmt.Sprintf("back_%d() {", n))
	s.body(undo)
	s.write("}", "")
}

func (s *script) body(lines []string) {
	if len(lines) == 0 {
		lines = []string{":"}
	}
	for _, l := range lines {
		s.write("\t" + l)
	}
}

// guarded puts the watch over the memory around a command.
func guarded(g *change.Guard, command string) string {
	switch {
	case g == nil:
		return command
	case g.SwapIn:
		return fmt.Sprintf("watched %d 1 %s", g.MemAvailable, command)
	}
	return fmt.Sprintf("watched %d 0 %s", g.MemAvailable, command)
}

// edit gives the commands that edit a file, and that restore it.
func (s *script) edit(id string, e *change.Edit) (apply []string, undo string) {
	head := fileHead(e, "a script of plumb fix; its undo takes it back.")
	how := ""
	if e.Form == edit.Mongod {
		raw, err := yamlRaw(e)
		s.err = cmp.Or(s.err, err)
		how = "yaml " + page.Shell(e.Key) + " " + page.Shell(raw)
	} else {
		l, err := lineEditOf(e)
		s.err = cmp.Or(s.err, err)
		how = strings.Join([]string{"line", page.Shell(l.section), page.Shell(l.before), page.Shell(l.value), page.Shell(l.raw), page.Shell(l.line)}, " ")
	}
	apply = []string{fmt.Sprintf("# %s: %s = %s", oneLineOf(e.File), oneLineOf(e.Key), oneLineOf(e.Value)),
		fmt.Sprintf("change %s %04o %s \\", page.Shell(e.File), cmp.Or(e.Perm, 0o644).Perm(), page.Shell(head)), "\t" + how}
	undo = "change_back " + page.Shell(e.File)
	if e.Apply != nil {
		s.function("reread_"+id, []change.Op{*e.Apply}, nil)
		apply = append(apply, "reread_"+id+" || die "+page.Shell("the change of "+e.File+" could not be made known"))
		undo += " && { reread_" + id + " || problem " + page.Shell("the change of "+e.File+" could not be made known") + "; }"
	}
	return apply, undo
}

// turn writes the functions that read, set and set back a switch.
func (s *script) turn(id string, w *change.Switch) {
	s.comment(id + " is " + w.On)
	s.write("look_" + id + "() {")
	s.body(s.look(w.Look))
	s.write("}")
	s.function("do_"+id, w.Do, nil)
	s.function("undo_"+id, w.Undo, w.UndoNone)
}

// look gives the commands that read a state.
func (s *script) look(l change.Look) []string {
	end := ""
	switch {
	case l.Match != "":
		end = " | matched " + page.Shell(matchScript(l.Match))
	case l.Choice:
		end = " | chosen"
	}
	switch {
	case l.File != "":
		return []string{"content " + page.Shell(l.File) + end}
	case l.Argv != nil:
		return []string{"answer=$(" + command(l.Argv) + ") || return 1", `or_none "$answer"` + end}
	case l.Target != nil:
		return []string{fmt.Sprintf("answer=$(on_%d %s) || return 1", s.target(l.Target), page.Shell(l.Query)), `cells "$answer"` + end}
	}
	s.err = cmp.Or(s.err, fmt.Errorf("an act does not say how its state is read"))
	return nil
}

// matchScript gives the script of sed that finds what the first group of an
// expression finds.
func matchScript(match string) string {
	return "s/" + strings.ReplaceAll(match, "/", `\/`) + `/\1/p`
}

func command(argv []string) string {
	words := make([]string, len(argv))
	for i, w := range argv {
		words[i] = filled(w, "")
	}
	return strings.Join(words, " ")
}

// function writes operations as a function of the state before; none are
// those for a state that is (none).
func (s *script) function(name string, ops, none []change.Op) {
	s.write(name + "() {")
	if none != nil {
		s.write("\tif [ \"$1\" = '(none)' ]; then")
		s.ops("\t\t", none)
		s.write("\t\treturn", "\tfi")
	}
	s.ops("\t", ops)
	s.write("}")
}

// ops writes operations so that the first that fails ends the rest.
func (s *script) ops(indent string, ops []change.Op) {
	if len(ops) == 0 {
		s.write(indent + ":")
	}
	for i, o := range ops {
		end := ""
		if i < len(ops)-1 {
			end = " &&"
		}
		s.write(indent + s.op(o) + end)
	}
}

func (s *script) op(o change.Op) string {
	switch {
	case o.Write != nil:
		return "printf '%s\\n' " + filled(o.Write.Text, "") + " >" + page.Shell(o.Write.File)
	case o.Statement != "" && o.Target != nil:
		return fmt.Sprintf("on_%d %s >/dev/null", s.target(o.Target), filled(o.Statement, o.Target.Engine))
	}
	return command(o.Argv)
}

// filled quotes a text for the shell, with the state before as $1.
func filled(text, engine string) string {
	quote := `"$(sql "$1")"`
	if engine == "mysql" {
		quote = `"$(sql_mysql "$1")"`
	}
	var b strings.Builder
	for text != "" {
		i := strings.Index(text, "{before")
		switch {
		case i > 0:
			b.WriteString(page.Shell(text[:i]))
			text = text[i:]
		case strings.HasPrefix(text, "{before}"):
			b.WriteString(`"$1"`)
			text = text[len("{before}"):]
		case strings.HasPrefix(text, "{before:sql}"):
			b.WriteString(quote)
			text = text[len("{before:sql}"):]
		default:
			b.WriteString(page.Shell(text))
			text = ""
		}
	}
	return cmp.Or(b.String(), "''")
}

// main writes what runs the steps.
func (s *script) main() {
	steps := s.draft.Steps
	s.write("case ${1:-} in", "apply)", "\tbegin")
	for i := range steps {
		s.write(fmt.Sprintf("\tstep_%d", i+1))
	}
	s.restarts()
	s.write("\tsay \"Done. sh $0 undo takes it back.\"", "\t;;", "undo)", "\tbegin")
	for i := range slices.Backward(steps) {
		s.write(fmt.Sprintf("\tback_%d", i+1))
	}
	s.write("\tif [ $FAILED = 1 ]; then exit 1; fi", "\tsay 'Everything is as it was found.'")
	for _, w := range s.waits() {
		s.write("\tsay " + page.Shell("What is in force only after "+w+" needs that again."))
	}
	s.write("\t;;", "*)", "\tsay \"usage: sh $0 apply [--restart] | undo\" >&2", "\texit 2", "\t;;", "esac")
}

// waits lists what steps wait for, each once.
func (s *script) waits() []string {
	var all []string
	for _, p := range s.draft.Steps {
		if w := oneLineOf(p.Recipe.Waits); w != "" && !slices.Contains(all, w) {
			all = append(all, w)
		}
	}
	return all
}

// restarts writes the restarts that values wait for, each once.
func (s *script) restarts() {
	var seen []string
	for _, p := range s.draft.Steps {
		w := oneLineOf(p.Recipe.Waits)
		if w == "" || slices.Contains(seen, w) {
			continue
		}
		seen = append(seen, w)
		if p.Recipe.Restart == nil {
			s.write("\tsay " + page.Shell("In force only after "+w+"."))
			continue
		}
		s.write("\tif [ \"${2:-}\" = --restart ]; then")
		for _, o := range p.Recipe.Restart {
			s.write("\t\t" + s.op(o) + " || die " + page.Shell(w+" failed"))
		}
		s.write("\telse", "\t\tsay "+page.Shell("In force only after "+w+"."), "\tfi")
	}
}
