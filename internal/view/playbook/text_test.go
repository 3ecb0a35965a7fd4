package playbook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/internal/view/viewtest"
	"plumb/test/ansible"
)

// drafted is a plan with a step for each kind of act.
func drafted() Emission {
	my := &host.Target{Engine: "mysql", Name: "mysql:/run/mysqld/mysqld.sock", Network: "unix", Address: "/run/mysqld/mysqld.sock"}
	pg := &host.Target{Engine: "postgres", Network: "unix", Address: "/run/postgresql/.s.PGSQL.5432"}
	mongo := &host.Target{Engine: "mongo", Network: "tcp", Address: "127.0.0.1:27017"}
	ask := func(t *host.Target, text ...string) change.Act {
		s := &change.Switch{On: text[0]}
		for _, x := range text {
			s.Do = append(s.Do, change.Op{Target: t, Statement: x})
		}
		return change.Act{Switch: s}
	}
	pool := func(to string) change.Act {
		a := ask(my, "SET GLOBAL innodb_buffer_pool_size = "+to)
		a.Switch.On = "mysql:3306 innodb_buffer_pool_size"
		return a
	}
	file := func(form edit.Form, name, key, value string, ours bool) change.Act {
		return change.Act{Edit: &change.Edit{File: name, Form: form, Key: key, Value: value, Ours: ours}}
	}
	write := change.Act{Switch: &change.Switch{On: "vm.swappiness", Do: []change.Op{{Write: &change.Write{File: "/proc/sys/vm/swappiness", Text: "10"}}}}}
	e := Emission{Plan: advise.Plan{Plumb: advise.PlanVersion, Kind: "plan", Host: "db1", TakenAt: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}, AllowUnsafe: []string{"mysql:3306#sync_binlog"}}
	step := func(kind, name, knob string, to stack.Value, waits string, acts ...change.Act) {
		k := stack.Knob{Of: stack.Ref{Kind: kind, Name: name}, Name: knob}
		e.Plan.Steps = append(e.Plan.Steps, advise.Step{Knob: k, From: stack.Int(1), To: to, Because: "It is out of line", Why: []string{kind + "/" + knob}})
		e.Draft.Steps = append(e.Draft.Steps, change.Prepared{Step: change.Step{Knob: k, From: stack.Int(1), To: to, Because: "It is out of line", Why: []string{kind + "/" + knob}},
			Now: stack.Int(1), Recipe: change.Recipe{Effect: catalog.Now, Acts: acts, Waits: waits}})
	}
	step("mysql", "3306", "innodb_buffer_pool_size", stack.Int(2<<30), "a restart of mariadb.service", pool("1073741824"), pool("2147483648"),
		file(edit.OptionFile, "/etc/mysql/my.cnf", "mysqld/innodb_buffer_pool_size", "2147483648", false))
	step("postgres", "5432", "log_line_prefix", stack.Text("%m it's "), "", ask(pg, "ALTER SYSTEM SET log_line_prefix = '%m it''s '", "SELECT pg_reload_conf()"))
	step("mongo", "27017", "ttl", stack.Bool(true), "", ask(mongo, `{"setParameter": 1, "ttlMonitorEnabled": true}`))
	step("dataset", "tank/db", "recordsize", stack.Int(16384), "", change.Act{Switch: &change.Switch{On: "tank/db recordsize", Do: []change.Op{{Argv: []string{"zfs", "set", "recordsize=16384", "tank/db"}}}}})
	step("host", "db1", "vm_swappiness", stack.Int(10), "", write, file(edit.Sysctl, "/etc/sysctl.d/99-zz-plumb.conf", "vm.swappiness", "10", true))
	step("zfs", "zfs", "zfs_arc_max", stack.Int(1<<30), "a reboot", file(edit.Modprobe, "/etc/modprobe.d/zz-plumb.conf", "zfs/zfs_arc_max", "1073741824", true))
	step("filesystem", "/data", "discard", stack.Text("discard"), "", file(edit.Fstab, "/etc/fstab", "/data", "defaults,discard", false))
	refused := stack.Knob{Of: stack.Ref{Kind: "pool", Name: "tank"}, Name: "ashift"}
	e.Plan.Steps = append(e.Plan.Steps, advise.Step{Knob: refused, To: stack.Int(12)})
	e.Draft.Refused = []change.Refused{{Step: change.Step{Knob: refused, To: stack.Int(12)}, Reason: "it is fixed when a pool is made"}}
	return e
}

func written(t *testing.T, form string, e Emission) string {
	t.Helper()
	text, err := Text(form, e, viewtest.Units())
	must(t, err)
	return text
}

// carriedBy gives the plan that a text hands to plumb.
func carriedBy(t *testing.T, form, text string) (p advise.Plan) {
	t.Helper()
	var carried []byte
	if form == "shell" {
		_, after, _ := strings.Cut(text, "cat <<'"+planEnds+"'\n")
		inner, _, _ := strings.Cut(after, planEnds)
		carried = []byte(inner)
	} else {
		carried = []byte(strings.Join(playOf(t, text).Vars.Plan, ""))
	}
	p, err := advise.ReadPlan(carried)
	if err != nil {
		t.Fatalf("the plan that it carries: %v\n%s", err, carried)
	}
	return p
}

type play struct {
	Hosts string
	Vars  struct{ Plan lines }
	Tasks []map[string]any
}

// lines reads a text that Ansible must not take for a template.
type lines []string

func (l *lines) UnmarshalYAML(n *yaml.Node) error {
	*l = []string{n.Value}
	if n.Tag != "!unsafe" {
		*l = nil
	}
	return nil
}

func playOf(t *testing.T, text string) play {
	t.Helper()
	var plays []play
	if err := yaml.Unmarshal([]byte(text), &plays); err != nil || len(plays) != 1 {
		t.Fatalf("%d plays: %v\n%s", len(plays), err, text)
	}
	return plays[0]
}

func TestTexts(t *testing.T) {
	e := drafted()
	for _, form := range Forms() {
		text := written(t, form, e)
		viewtest.Golden(t, "playbook-"+form+".txt", text)
		want := e.Plan
		want.Steps = want.Steps[:len(e.Draft.Steps)] // not what was refused
		a, _ := json.Marshal(carriedBy(t, form, text))
		if b, _ := json.Marshal(want); string(a) != string(b) {
			t.Errorf("%s carries\n%s\nwant\n%s", form, a, b)
		}
	}
	if _, err := Text("chef", e, nil); err == nil || !strings.Contains(err.Error(), "ansible, shell") {
		t.Errorf("got %v", err)
	}
}

// TestScriptIsClean has the shell and shellcheck read a script.
func TestScriptIsClean(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fix.sh")
	must(t, os.WriteFile(file, []byte(written(t, "shell", drafted())), 0o600))
	for _, argv := range [][]string{{"sh", "-n"}, {"dash", "-n"}, {"shellcheck", "--severity=style"}} {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			t.Logf("%s is not installed", argv[0])
			continue
		}
		if out, err := exec.CommandContext(t.Context(), path, append(argv[1:], file)...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", argv, err, out)
		}
	}
}

// hostile is a plan of which every text would like to be a command, the end of
// the plan, or a template.
func hostile(owned string) Emission {
	e := drafted()
	evil := "x'; touch " + owned + " #$(touch " + owned + ")`touch " + owned + "`\n" + planEnds + "\ntouch " + owned + "\u0085\u2028" + planEnds + "\n{{ lookup('pipe', 'touch " + owned + "') }}{% raw %}"
	e.Plan.Host, e.AllowUnsafe = evil, []string{evil}
	for i := range e.Draft.Steps {
		d, p := &e.Draft.Steps[i], &e.Plan.Steps[i]
		p.Because, d.Because, d.Why, d.Recipe.Waits, d.Recipe.Notes, d.Recipe.Lasts = evil, evil, []string{evil}, evil, []string{evil}, evil
		d.To, p.To = stack.Text(evil), stack.Text(evil)
		for _, a := range d.Recipe.Acts {
			if a.Edit != nil {
				a.Edit.File, a.Edit.Key, a.Edit.Value = evil, evil, evil
			}
		}
	}
	e.Draft.Refused[0].Reason = evil
	return e
}

// TestTextsHoldNothingOfStrangers runs a script with a plumb that keeps what it
// is told, and reads a playbook as Ansible does.
func TestTextsHoldNothingOfStrangers(t *testing.T) {
	dir := t.TempDir()
	owned := filepath.Join(dir, "owned")
	e := hostile(owned)
	plumb := filepath.Join(dir, "plumb")
	must(t, os.WriteFile(plumb, []byte("#!/bin/sh\ncat > "+dir+"/plan\nprintf '%s\\n' \"$1\" \"$#\" > "+dir+"/told\n"), 0o700))
	for verb, told := range map[string]string{"apply": "fix\n5\n", "undo": "undo\n4\n"} {
		cmd := exec.CommandContext(t.Context(), "sh", "-s", verb)
		cmd.Stdin, cmd.Env = strings.NewReader(written(t, "shell", e)), append(os.Environ(), "PLUMB="+plumb)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", verb, err, out)
		}
		plan, _ := os.ReadFile(filepath.Join(dir, "plan"))
		p, err := advise.ReadPlan(plan)
		if err != nil || p.Host != e.Plan.Host || len(p.Steps) != len(e.Draft.Steps) {
			t.Errorf("%s: plumb is handed another plan: %v\n%s", verb, err, plan)
		}
		if got, _ := os.ReadFile(filepath.Join(dir, "told")); string(got) != told {
			t.Errorf("%s: plumb is told %q, want %q", verb, got, told)
		}
	}
	if _, err := os.Stat(owned); err == nil {
		t.Error("a text of the plan was run")
	}
	text := written(t, "ansible", e)
	if carriedBy(t, "ansible", text).Host != e.Plan.Host {
		t.Error("the playbook carries another plan")
	}
	inPlan := false
	for l := range strings.Lines(text) {
		inPlan = inPlan && strings.HasPrefix(l, "      ") || strings.Contains(l, "plan: &plan !unsafe |")
		if strings.Contains(l, "lookup(") && !inPlan && !strings.Contains(l, "!unsafe") && !strings.HasPrefix(l, "#") {
			t.Errorf("a template of a stranger: %s", l)
		}
	}
}

// A host without plumb is not touched by the script, and is told of.
func TestScriptWithoutPlumb(t *testing.T) {
	cmd := exec.CommandContext(t.Context(), "sh", "-s", "apply")
	cmd.Stdin, cmd.Env = strings.NewReader(written(t, "shell", drafted())), append(os.Environ(), "PLUMB="+filepath.Join(t.TempDir(), "none"))
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "plumb is not on this host") {
		t.Errorf("%v: %s", err, out)
	}
}

// TestPlaybookNeedsNoCollection: Ansible alone takes a playbook of fix, whose modules hosts without plumb need.
func TestPlaybookNeedsNoCollection(t *testing.T) {
	ansible.New(t, written(t, "ansible", drafted()))
}
