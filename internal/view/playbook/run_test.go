package playbook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/stack"
	"plumb/internal/view/viewtest"
)

// scratchDraft is a draft of which every act stays inside a directory.
func scratchDraft(t *testing.T, dir string) change.Draft {
	t.Helper()
	file := func(name string) string { return filepath.Join(dir, name) }
	scratchFile(t, dir, "proc/swappiness", "60\n")
	scratchFile(t, dir, "sys/enabled", "[always] madvise never\n")
	scratchFile(t, dir, "etc/sysctl.conf", "# by hand\nvm.swappiness = 30 \nnet.core.somaxconn=100\n")
	scratchFile(t, dir, "etc/my.cnf", "[mysqld]\nsync-binlog = 0 # fast\nport = 3306\n")
	write := func(name, text string) []change.Op {
		return []change.Op{{Write: &change.Write{File: file(name), Text: text}}}
	}
	prepared := func(kind, name string, from, to stack.Value, acts ...change.Act) change.Prepared {
		knob := stack.Knob{Of: stack.Ref{Kind: kind, Name: "db1"}, Name: name}
		return change.Prepared{Step: change.Step{Knob: knob, From: from, To: to, Because: "It's $HOME `id`", Why: []string{"kernel/" + name}}, Now: from,
			Recipe: change.Recipe{Effect: catalog.Now, Acts: acts, Lasts: file("etc")}}
	}
	swappiness := prepared("host", "swappiness", stack.Int(60), stack.Int(10),
		change.Act{Switch: &change.Switch{On: file("proc/swappiness"), Look: change.Look{File: file("proc/swappiness")}, After: "10",
			Do: write("proc/swappiness", "10"), Undo: write("proc/swappiness", "{before}"), Guard: &change.Guard{MemAvailable: 1 << 20}}},
		change.Act{Edit: &change.Edit{File: file("etc/sysctl.conf"), Form: edit.Sysctl, Key: "vm.swappiness", Value: "10"}},
		change.Act{Edit: &change.Edit{File: file("etc/sysctl.d/99-plumb.conf"), Form: edit.Sysctl, Key: "vm.swappiness", Value: "10", Ours: true, Note: "Read at boot."}})
	pages := prepared("host", "thp", stack.Text("always"), stack.Text("never"),
		change.Act{Switch: &change.Switch{On: file("sys/enabled"), Look: change.Look{File: file("sys/enabled"), Choice: true}, After: "never",
			Do: write("sys/enabled", "always madvise [never]"), Undo: write("sys/enabled", "[{before}] madvise never")}})
	binlog := prepared("mysql", "sync_binlog", stack.Int(0), stack.Int(1),
		change.Act{Edit: &change.Edit{File: file("etc/my.cnf"), Form: edit.OptionFile, Key: "mysqld/sync_binlog", Value: "1",
			Apply: &change.Op{Argv: []string{"sh", "-c", "echo read >> " + file("log")}}}},
		change.Act{Edit: &change.Edit{File: file("etc/my.cnf"), Form: edit.OptionFile, Key: "mysqld/sql_mode", Value: "A,B"}})
	binlog.Recipe.Waits, binlog.Recipe.Restart = "a restart of mariadb.service", []change.Op{{Argv: []string{"touch", file("restarted")}}}
	grow := func(to string) change.Act {
		return change.Act{Switch: &change.Switch{On: "the pool", Look: change.Look{File: file("pool")}, After: to,
			Do: []change.Op{{Argv: []string{"sh", "-c", "echo " + to + " >" + file("pool") + "; echo " + to + " >>" + file("log")}}}, Undo: write("pool", "{before}")}}
	}
	scratchFile(t, dir, "pool", "1\n")
	pool := prepared("mysql", "pool", stack.Int(1), stack.Int(3), grow("2"), grow("3"))
	row := prepared("host", "row", stack.Value{}, stack.Text("it's"),
		change.Act{Switch: &change.Switch{On: "the row", Look: change.Look{Argv: []string{"sh", "-c", "cat " + file("row") + " 2>/dev/null || :"}}, After: "it's",
			Do:       []change.Op{{Argv: []string{"cp", scratchFile(t, dir, "in/row", "it's\n"), file("row")}}},
			Undo:     []change.Op{{Argv: []string{"false", "{before}"}}},
			UndoNone: []change.Op{{Argv: []string{"rm", "-f", file("row")}}}}})
	return change.Draft{Steps: []change.Prepared{swappiness, pages, binlog, pool, row}}
}

func scratchPlan() advise.Plan {
	return advise.Plan{Host: "db1", TakenAt: time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)}
}

// scriptRun is a script in a directory.
type scriptRun struct {
	t                *testing.T
	dir, file, state string
}

func newScriptRun(t *testing.T, shell string) (*scriptRun, func(args ...string) (string, error)) {
	t.Helper()
	r := &scriptRun{t: t, dir: t.TempDir(), state: filepath.Join(t.TempDir(), "state")}
	text, err := Text("shell", scratchDraft(t, r.dir), scratchPlan(), viewtest.Units())
	if err != nil {
		t.Fatal(err)
	}
	r.file = filepath.Join(t.TempDir(), "fix.sh")
	if err := os.WriteFile(r.file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return r, func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), shell, append([]string{r.file}, args...)...)
		cmd.Env = append(os.Environ(), "PLUMB_STATE="+r.state)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
}

func (r *scriptRun) has(name, want string) {
	r.t.Helper()
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil || string(text) != want {
		r.t.Errorf("%s is %q (%v), want %q", name, text, err, want)
	}
}

// TestScriptAppliesAndUndoes runs a script on a scratch directory.
func TestScriptAppliesAndUndoes(t *testing.T) {
	for _, shell := range []string{"sh", "dash", "bash"} {
		path, err := exec.LookPath(shell)
		if err != nil {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			r, run := newScriptRun(t, path)
			before := treeText(t, r.dir)
			out, err := run("apply")
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			r.has("proc/swappiness", "10\n")
			r.has("sys/enabled", "always madvise [never]\n")
			r.has("etc/sysctl.conf", "# by hand\nvm.swappiness = 10 \nnet.core.somaxconn=100\n")
			r.has("etc/sysctl.d/99-plumb.conf", "# Written by a script of plumb fix; its undo takes it back.\n# Read at boot.\nvm.swappiness = 10\n")
			r.has("etc/my.cnf", "[mysqld]\nsync-binlog = 1 # fast\nport = 3306\nsql_mode = A,B\n")
			r.has("row", "it's\n")
			if !strings.Contains(out, "In force only after a restart of mariadb.service.") {
				t.Errorf("it does not say what waits:\n%s", out)
			}
			after := treeText(t, r.dir)
			if out, err = run("apply"); err != nil || strings.Contains(out, "is edited") || !strings.Contains(out, "is never already") {
				t.Fatalf("a second time: %v\n%s", err, out)
			}
			r.has("log", "read\n2\n3\nread\n")
			if strings.ReplaceAll(treeText(t, r.dir), `3\nread\n`, `3\n`) != after {
				t.Errorf("a second apply changed something:\n%s", treeText(t, r.dir))
			}
			if out, err = run("undo"); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			os.Remove(filepath.Join(r.dir, "log"))
			os.Remove(filepath.Join(r.dir, "etc/sysctl.d")) // a directory made for a file stays
			if got := treeText(t, r.dir); got != before {
				t.Errorf("undo left\n%s\nwant\n%s", got, before)
			}
			if out, err = run("undo"); err != nil {
				t.Errorf("undo a second time: %v\n%s", err, out)
			}
		})
	}
}

// TestScriptLeavesWhatOthersChanged changes two places after an apply.
func TestScriptLeavesWhatOthersChanged(t *testing.T) {
	r, run := newScriptRun(t, "sh")
	if out, err := run("apply", "--restart"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	r.has("restarted", "")
	scratchFile(t, r.dir, "proc/swappiness", "5\n")
	scratchFile(t, r.dir, "etc/my.cnf", "[mysqld]\nsync-binlog = 100\n")
	out, err := run("undo")
	if err == nil || !strings.Contains(out, "was left as 10 and is 5") || !strings.Contains(out, "my.cnf was changed since") {
		t.Errorf("%v\n%s", err, out)
	}
	r.has("proc/swappiness", "5\n")
	r.has("etc/my.cnf", "[mysqld]\nsync-binlog = 100\n")
	r.has("etc/sysctl.conf", "# by hand\nvm.swappiness = 30 \nnet.core.somaxconn=100\n")
	t.Setenv("FORCE", "1")
	if out, err := run("undo"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	r.has("proc/swappiness", "60\n")
	r.has("etc/my.cnf", "[mysqld]\nsync-binlog = 0 # fast\nport = 3306\n")
}

// TestScriptStopsAtWhatFails breaks one step, and takes back those before it.
func TestScriptStopsAtWhatFails(t *testing.T) {
	r, run := newScriptRun(t, "sh")
	before := treeText(t, r.dir)
	in := filepath.Join(r.dir, "in/row")
	if err := os.Rename(in, in+".away"); err != nil {
		t.Fatal(err)
	}
	out, err := run("apply")
	if err == nil || !strings.Contains(out, "step 5_1: it could not be set") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := run("undo"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	os.Rename(in+".away", in)
	os.Remove(filepath.Join(r.dir, "log"))
	if got := treeText(t, r.dir); got != before {
		t.Errorf("undo left\n%s\nwant\n%s", got, before)
	}
}

// TestScriptIsClean has the shell and shellcheck read a script.
func TestScriptIsClean(t *testing.T) {
	r, _ := newScriptRun(t, "sh")
	for _, argv := range [][]string{{"sh", "-n"}, {"dash", "-n"}, {"shellcheck", "--severity=style"}} {
		path, err := exec.LookPath(argv[0])
		if err != nil {
			t.Logf("%s is not installed", argv[0])
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, append(argv[1:], r.file)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", argv, err, out)
		}
	}
}

// TestPlaybooksHoldNothingOfStrangers writes a plan of which every text would
// like to be a command or a template.
func TestPlaybooksHoldNothingOfStrangers(t *testing.T) {
	dir := t.TempDir()
	d := scratchDraft(t, dir)
	evil := "x'; touch " + dir + "/owned #$(touch " + dir + "/owned)`touch " + dir + "/owned`\ntouch " + dir + "/owned\n{{ lookup('pipe', 'touch " + dir + "/owned') }}"
	plan := scratchPlan()
	plan.Host = evil
	for i := range d.Steps {
		d.Steps[i].Because, d.Steps[i].Why, d.Steps[i].Recipe.Waits, d.Steps[i].Recipe.Notes = evil, []string{evil}, evil, []string{evil}
	}
	d.Refused = []change.Refused{{Step: d.Steps[0].Step, Reason: evil}}
	text, err := Text("shell", d, plan, viewtest.Units())
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-s", "apply")
	cmd.Stdin, cmd.Env = strings.NewReader(text), append(os.Environ(), "PLUMB_STATE="+t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "owned")); err == nil {
		t.Error("a text of the plan was run")
	}
	if text, err = Text("ansible", d, plan, viewtest.Units()); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(text) {
		if strings.Contains(l, "lookup(") && !strings.Contains(l, "!unsafe") && !strings.HasPrefix(strings.TrimSpace(l), "#") {
			t.Errorf("a template of a stranger: %s", l)
		}
	}
}
