package playbook

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"plumb/internal/change"
	"plumb/internal/edit"
	"plumb/internal/host/hosttest"
	"plumb/internal/provision"
	"plumb/internal/stack"
	"plumb/test/ansible"
	"plumb/test/sandbox"
)

// laid is a directory with files as a host has them, and a plan about it with an act of each kind.
type laid struct {
	t   *testing.T
	dir string
	p   Provisioning
}

func layOut(t *testing.T) *laid {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root: what is written refuses all others")
	}
	l := &laid{t: t, dir: t.TempDir()}
	l.put("my.cnf", "# it's by hand\n[mysqld]\nsync_binlog=0\r\n[client]\nuser=x\n", 0o640)
	l.put("state", "always [madvise] never\n", 0o644)
	l.put("swap", "60\n", 0o644)
	at := func(name string) string { return filepath.Join(l.dir, name) }
	restart := change.Op{Argv: []string{"sh", "-c", `echo "it's done" >>"$1"`, "sh", at("restarts")}}
	reread := &change.Op{Argv: []string{"sh", "-c", `echo "it's read" >>"$1"`, "sh", at("rereads")}}
	step := func(waits string, acts ...change.Act) change.Prepared {
		s := provision.Step(stack.Ref{Kind: "mysql", Name: "3306"}, "x", acts)
		s.Recipe.Waits = waits
		if waits != "" {
			s.Recipe.Restart, s.Recipe.Shorten = []change.Op{restart}, []change.Op{{Argv: []string{"false"}}}
		}
		return s
	}
	set := func(file string, form edit.Form, key, value string, ours bool) change.Act {
		return change.Act{Edit: &change.Edit{File: at(file), Form: form, Key: key, Value: value, Ours: ours, Note: "it's a note"}}
	}
	l.p = Provisioning{Host: "db1", Plan: provision.Plan{Stages: []provision.Stage{
		{Name: "volumes", Why: "one for each role", Steps: []change.Prepared{step("",
			change.Act{Make: &change.Make{Thing: change.Thing{Path: at("data dir")}, Directory: &change.Dir{Perm: 0o750, UID: 65534, GID: 65534}}},
			change.Act{Make: &change.Make{Thing: change.Thing{Name: "the pool's file", Inspect: &change.Inspection{Argv: []string{"find", l.dir, "-name", "pool-*", "-printf", "%f\\n"}, Match: "^(pool-.*)$"}},
				Do: []change.Op{{Argv: []string{"sh", "-ec", `: >"$1"`, "sh", at("pool-{mark}")}}}, Undo: []change.Op{{Argv: []string{"rm", at("pool-{mark}")}}}}},
			change.Act{Switch: &change.Switch{On: "packages", From: change.None, After: "a 1\nb 2", Inspect: change.Inspection{Argv: []string{"find", l.dir, "-name", "?-is-in", "-printf", "%f\\n"}, Match: "^(a)-is-in$"},
				Do: []change.Op{{Argv: []string{"touch", at("a-is-in"), at("c-is-in")}}}, UndoNone: []change.Op{{Argv: []string{"rm", at("a-is-in"), at("c-is-in")}}}}})}},
		{Name: "settings", Why: "the advice of the rules", Restart: true, Steps: []change.Prepared{
			step("a restart of mariadb.service", set("my.cnf", edit.OptionFile, "mysqld/sync_binlog", "1", false), set("my.cnf", edit.OptionFile, "mysqld/innodb_flush_method", "O_DIRECT", false)),
			step("", set("new.d/zz-plumb.conf", edit.Unit, "Unit/RequiresMountsFor", "/tank/my sql", true), set("new.d/zz-plumb.conf", edit.Unit, "Unit/After", "zfs-mount.service", true)),
			step("", change.Act{Switch: &change.Switch{On: "thp", Inspect: change.Inspection{File: at("state"), Choice: true}, After: "never", Do: []change.Op{{Write: &change.Write{File: at("state"), Text: "always madvise [never]"}}},
				Undo: []change.Op{{Write: &change.Write{File: at("state"), Text: "always [{before}] never"}}}}}),
			step("a restart of mariadb.service", change.Act{Switch: &change.Switch{On: "swappiness", Inspect: change.Inspection{File: at("swap")}, After: "10", Do: []change.Op{{Write: &change.Write{File: at("swap"), Text: "10"}}},
				Undo: []change.Op{{Write: &change.Write{File: at("swap"), Text: "{before}"}}}}}),
		}},
	}}}
	l.p.Plan.Stages[0].Steps[0].Recipe.Acts[2].Switch.After = "a"
	l.p.Plan.Stages[1].Steps[1].Recipe.Acts[1].Edit.Apply = reread
	l.p.Files = map[string][]byte{}
	for _, name := range EditedFiles(l.p.Plan) {
		if text, err := os.ReadFile(name); err == nil {
			l.p.Files[name] = text
		}
	}
	return l
}

func (l *laid) put(name, text string, perm fs.FileMode) {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), perm); err != nil {
		l.t.Fatal(err)
	}
}

// facts tells of each file what it is, whose, and what it holds. The mark of an act is not the same twice.
func (l *laid) facts() string {
	l.t.Helper()
	var out strings.Builder
	err := filepath.WalkDir(l.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == l.dir {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		owner, err := exec.Command("stat", "-c", "%u:%g", name).Output()
		if err != nil {
			return err
		}
		base := strings.TrimPrefix(name, l.dir)
		if strings.HasPrefix(base, "/pool-") {
			base = "/pool-"
		}
		fmt.Fprintf(&out, "%s %v %s", base, info.Mode(), owner)
		if info.Mode().IsRegular() {
			text, err := os.ReadFile(name)
			fmt.Fprintf(&out, "%q\n", text)
			return err
		}
		return nil
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return out.String()
}

// byActs gives the facts that plumb's own acts make, and takes them back.
func (l *laid) byActs() string {
	l.t.Helper()
	before := l.facts()
	doer := hosttest.LiveDoer(l.t)
	k := change.NewExecutor(doer, "test")
	k.Dir = filepath.Join(l.t.TempDir(), "journal")
	var numbers []int
	for _, s := range l.p.Plan.Stages {
		out, err := k.Apply(context.Background(), change.Draft{Steps: s.Steps}, change.ApplyOptions{Restart: s.Restart})
		if err != nil {
			l.t.Fatal(err)
		}
		numbers = append([]int{out.Number}, numbers...)
	}
	facts := l.facts()
	if err := k.Undo(context.Background(), numbers, change.UndoOptions{}); err != nil {
		l.t.Fatal(err)
	}
	_ = os.Remove(filepath.Join(l.dir, "restarts"))
	_ = os.Remove(filepath.Join(l.dir, "rereads"))
	_ = os.Remove(filepath.Join(l.dir, "new.d"))
	if after := l.facts(); after != before {
		l.t.Fatalf("undone, it is\n%s\nand was\n%s", after, before)
	}
	return facts
}

// sh runs a script; code is its exit code.
func sh(t *testing.T, text string, words ...string) (out string, code int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "it's a script.sh")
	must(t, os.WriteFile(file, []byte(text), 0o600))
	c := exec.Command("sh", append([]string{file}, words...)...)
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"} // no plumb
	err := c.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return b.String(), c.ProcessState.ExitCode()
}

func (l *laid) shell() string {
	l.t.Helper()
	text, err := l.p.Shell()
	if err != nil {
		l.t.Fatal(err)
	}
	return text
}

// TestScriptGivesTheFactsOfTheActs: applied by plumb, and applied by the script.
func TestScriptGivesTheFactsOfTheActs(t *testing.T) {
	l := layOut(t)
	before, want, text := l.facts(), l.byActs(), l.shell()
	if out, err := exec.Command("shellcheck", "--version").Output(); err == nil {
		file := filepath.Join(t.TempDir(), "x.sh")
		must(t, os.WriteFile(file, []byte(text), 0o600))
		// SC2016: what is quoted is run later by eval. SC2154: $owed is set before each stage.
		if found, err := exec.Command("shellcheck", "-s", "sh", "-S", "warning", file).CombinedOutput(); err != nil {
			t.Errorf("shellcheck (%s): %v\n%s", out, err, found)
		}
	}
	if out, code := sh(t, text, "show"); code != 0 || strings.Count(out, "would change: ") < 7 || !strings.Contains(out, "would change: a restart of mariadb.service\n") || l.facts() != before {
		t.Errorf("show ends with %d, and the facts are\n%s\n%s", code, l.facts(), out)
	}
	out, code := sh(t, text, "apply")
	if got := l.facts(); code != 0 || got != want {
		t.Fatalf("the script ends with %d and makes\n%s\nand the acts\n%s\n%s", code, got, want, out)
	}
	if out, code := sh(t, text, "apply"); code != 0 || out != "" || l.facts() != want {
		t.Errorf("a second time it ends with %d, says\n%s\nand makes\n%s", code, out, l.facts())
	}
}

// TestScriptRefuses: what is neither as it was nor as it shall be is left alone.
func TestScriptRefuses(t *testing.T) {
	for what, spoil := range map[string]func(*laid){
		"the file was changed since": func(l *laid) { l.put("my.cnf", "[mysqld]\nsync_binlog=2\n", 0o640) },
		"the file is somebody's":     func(l *laid) { must(l.t, os.Mkdir(l.dir+"/new.d", 0o755)); l.put("new.d/zz-plumb.conf", "x", 0o644) },
		"the directory is another's": func(l *laid) { must(l.t, os.Mkdir(l.dir+"/data dir", 0o750)) },
		"a link is in its place":     func(l *laid) { must(l.t, os.Symlink("/tmp", l.dir+"/data dir")) },
		"the file lies in another's directory": func(l *laid) {
			must(l.t, os.Mkdir(l.dir+"/new.d", 0o755))
			must(l.t, os.Chown(l.dir+"/new.d", 65534, 65534))
		},
		"a thing of the name is there": func(l *laid) { l.put("pool-of-another", "", 0o644) },
		"the state is another": func(l *laid) {
			l.put("swap", "", 0o400)
			must(l.t, os.Remove(l.dir+"/swap"))
			must(l.t, os.Mkdir(l.dir+"/swap", 0o755))
		},
	} {
		t.Run(what, func(t *testing.T) {
			l := layOut(t)
			text := l.shell()
			spoil(l)
			out, code := sh(t, text, "apply")
			if code != 3 || !strings.Contains(out, "script.sh: ") {
				t.Errorf("it ends with %d:\n%s", code, out)
			}
		})
	}
	l := layOut(t)
	if out, code := sh(t, l.shell()); code != 2 || !strings.Contains(out, "usage") {
		t.Errorf("without a word it ends with %d: %s", code, out)
	}
}

// TestScriptFollowsNoLinkThatIsLeft: the name under which a file is written first is not written through.
func TestScriptFollowsNoLinkThatIsLeft(t *testing.T) {
	l := layOut(t)
	other := filepath.Join(t.TempDir(), "other")
	must(t, os.WriteFile(other, []byte("another's"), 0o600))
	must(t, os.Symlink(other, l.dir+"/.my.cnf.plumb-new"))
	if out, code := sh(t, l.shell(), "apply"); code != 0 {
		t.Errorf("it ends with %d:\n%s", code, out)
	}
	if text, err := os.ReadFile(other); string(text) != "another's" {
		t.Errorf("the file behind the link is %q, %v", text, err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestScriptOwesTheRestart: killed between a change and the restart that it waits for, the next run does it.
func TestScriptOwesTheRestart(t *testing.T) {
	l := layOut(t)
	text := l.shell()
	killed := strings.Replace(text, "\nrestart ", "\nkill -KILL $$\nrestart ", 1)
	if _, code := sh(t, killed, "apply"); code == 0 {
		t.Fatal("it was not killed")
	}
	if out, code := sh(t, text, "apply"); code != 0 || !strings.Contains(out, "changing: a restart of mariadb.service") {
		t.Errorf("the next run ends with %d:\n%s", code, out)
	}
	if got, _ := os.ReadFile(l.dir + "/restarts"); string(got) != "it's done\n" {
		t.Errorf("restarted %q", got)
	}
}

// TestScriptOwesTheReading: killed between a file and what has it read, the next run has it read, and the one after that does not.
func TestScriptOwesTheReading(t *testing.T) {
	l := layOut(t)
	text := l.shell()
	const renamed = "\tmv -f -- \"$new\" \"$file\"\n"
	killed := strings.Replace(text, renamed, renamed+"\t[ -z \"$8\" ] || kill -KILL $$\n", 1)
	if _, code := sh(t, killed, "apply"); code == 0 {
		t.Fatal("it was not killed")
	}
	for range 2 {
		if out, code := sh(t, text, "apply"); code != 0 {
			t.Errorf("the next run ends with %d:\n%s", code, out)
		}
		if got, _ := os.ReadFile(l.dir + "/rereads"); string(got) != "it's read\n" {
			t.Errorf("read again %q", got)
		}
	}
}

// TestScriptStartsNothingAfterAFailure: a stop that fails is not followed by the start, which would hide it.
func TestScriptStartsNothingAfterAFailure(t *testing.T) {
	l := layOut(t)
	for i := range l.p.Plan.Stages[1].Steps {
		if r := &l.p.Plan.Stages[1].Steps[i].Recipe; r.Restart != nil {
			r.Restart = append([]change.Op{{Argv: []string{"false"}}}, r.Restart...)
		}
	}
	out, code := sh(t, l.shell(), "apply")
	if _, err := os.Stat(l.dir + "/restarts"); code != 3 || err == nil || !strings.Contains(out, "a restart of mariadb.service failed") {
		t.Errorf("it ends with %d, %v:\n%s", code, err, out)
	}
}

// TestScriptKnowsWhatAMountHides: a directory that was made, closed and mounted on is none of another's.
func TestScriptKnowsWhatAMountHides(t *testing.T) {
	l := layOut(t)
	at := l.dir + "/journal/mnt" // of a host that has no journal
	mount := func(word string, more ...string) []change.Op {
		return []change.Op{{Argv: append(append([]string{word}, more...), at)}}
	}
	l.p.Plan.Stages = l.p.Plan.Stages[:1]
	l.p.Plan.Stages[0].Steps[0].Recipe.Acts = []change.Act{
		{Make: &change.Make{Thing: change.Thing{Path: at}, Directory: &change.Dir{UID: -1, GID: -1}}},
		{Switch: &change.Switch{On: "the closed directory", After: "100", Inspect: change.Inspection{Bare: at, Argv: []string{"stat", "-c", "%a", at}}, Do: mount("chmod", "0100")}},
		{Switch: &change.Switch{On: "the mount", After: "tmpfs", Inspect: change.Inspection{File: "/proc/self/mountinfo", Match: "^[^/]*/[^ ]* " + at + " .* - ([^ ]+) .*$"}, Do: mount("mount", "-t", "tmpfs", "none")}},
		{Switch: &change.Switch{On: "whose it is", After: "700", Inspect: change.Inspection{Argv: []string{"stat", "-c", "%a", at}}, Do: mount("chmod", "0700")}},
	}
	t.Cleanup(func() { _ = exec.Command("umount", at).Run() })
	text := l.shell()
	if out, code := sh(t, text, "show"); code != 0 || strings.Count(out, "would change: ") != 4 {
		t.Errorf("show ends with %d:\n%s", code, out)
	}
	if out, code := sh(t, text, "apply"); code == 3 && strings.Contains(out, "mount: ") && strings.Contains(out, "permission denied") {
		t.Skip("nothing can be mounted here: run it as root, where mount is allowed")
	} else if code != 0 {
		t.Fatalf("it ends with %d:\n%s", code, out)
	}
	if out, code := sh(t, text, "apply"); code != 0 || out != "" {
		t.Errorf("a second time it ends with %d, and says\n%s", code, out)
	}
}

// TestWhatSedReadsOtherwiseIsNotWritten: the state would be read as not there.
func TestWhatSedReadsOtherwiseIsNotWritten(t *testing.T) {
	for _, match := range []string{`^\d+ (x)$`, `^(?:a|b) (x)$`, `^\S+ (x)$`} {
		l := layOut(t)
		l.p.Plan.Stages[0].Steps[0].Recipe.Acts[2].Switch.Inspect.Match = match
		if _, err := l.p.Shell(); err == nil || !strings.Contains(err.Error(), "sed reads") {
			t.Errorf("%s: %v", match, err)
		}
	}
}

// TestScriptLeavesAMoveToPlumb: what comes after it would be of a host that is not so.
func TestScriptLeavesAMoveToPlumb(t *testing.T) {
	l := layOut(t)
	l.p.Plan.Stages[0].Steps[0].Recipe.Acts = []change.Act{{Copy: &change.Copy{From: "/var/lib/mysql", To: "/tank/mysql"}}}
	before := l.facts()
	out, code := sh(t, l.shell(), "apply")
	if code != 4 || !strings.Contains(out, "not done here: volumes: it has a copy") || !strings.Contains(out, "not done here: settings") || l.facts() != before {
		t.Errorf("it ends with %d:\n%s", code, out)
	}
}

// TestScriptOfAPartSaysSo: a plan that goes on only once the packages are there is not all of the spec when it is done.
func TestScriptOfAPartSaysSo(t *testing.T) {
	l := layOut(t)
	l.p.Later = "what comes later"
	for range 2 {
		if out, code := sh(t, l.shell(), "apply"); code != 4 || !strings.Contains(out, "not done here: what comes later") {
			t.Errorf("it ends with %d:\n%s", code, out)
		}
	}
	if text, err := l.p.Ansible(); err != nil || !strings.Contains(text, "ansible.builtin.fail") || !strings.Contains(text, "what comes later") {
		t.Errorf("the playbook ends well, %v:\n%s", err, text)
	}
}

type task struct {
	Name  string
	Shell struct {
		Cmd, Executable string
	} `yaml:"ansible.builtin.shell"`
}

// TestPlaybookGivesTheFactsOfTheActs runs each task's text as Ansible would.
func TestPlaybookGivesTheFactsOfTheActs(t *testing.T) {
	l := layOut(t)
	want := l.byActs()
	text, err := l.p.Ansible()
	must(t, err)
	var plays []struct {
		Vars  map[string]string
		Tasks []task
	}
	must(t, yaml.Unmarshal([]byte(text), &plays))
	for range 2 {
		for _, k := range plays[0].Tasks {
			out, code := sh(t, filled(t, k.Shell.Cmd, plays[0].Vars))
			if code != 0 {
				t.Fatalf("%s ends with %d:\n%s", k.Name, code, out)
			}
		}
		if got := l.facts(); got != want {
			t.Fatalf("the tasks make\n%s\nand the acts\n%s", got, want)
		}
	}
}

// TestPlaybookIsPlayed has Ansible itself play it.
func TestPlaybookIsPlayed(t *testing.T) {
	sandbox.NeedTime(t, "starts Ansible some times: PLUMB_REAL=1 go test ./internal/view/playbook -run Played")
	l := layOut(t)
	want := l.byActs()
	text, err := l.p.Ansible()
	must(t, err)
	l.played(text, want)
}

// filled does of Jinja what the tasks need: texts and names, joined by +.
func filled(t *testing.T, cmd string, vars map[string]string) string {
	t.Helper()
	inner, ok := strings.CutPrefix(cmd, "{{ ")
	inner, end := strings.CutSuffix(inner, " }}")
	if !ok || !end {
		t.Fatalf("no template: %s", cmd)
	}
	var out strings.Builder
	for part := range strings.SplitSeq(inner, " + ") {
		if quoted, is := strings.CutPrefix(part, "'"); is {
			out.WriteString(strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), `\n`, "\n"))
			continue
		}
		text, known := vars[part]
		if !known {
			t.Fatalf("%s names %s, which is no variable", cmd, part)
		}
		out.WriteString(text)
	}
	return out.String()
}

// played has Ansible itself do it, twice. What --check counts is what is done then.
func (l *laid) played(text, want string) {
	l.t.Helper()
	p := ansible.New(l.t, text)
	before := l.facts()
	shown, code := p.Play("--check")
	if l.facts() != before || code != 0 {
		l.t.Errorf("--check ends with %d, or changed something:\n%s", code, shown)
	}
	done, code := p.Play()
	if got := l.facts(); got != want || code != 0 {
		l.t.Fatalf("the playbook ends with %d and makes\n%s\nand the acts\n%s\n%s", code, got, want, done)
	}
	if would, did := ansible.Changed(shown), ansible.Changed(done); would != did || did == "0" {
		l.t.Errorf("--check would change %s, and %s were changed:\n%s\n%s", would, did, shown, done)
	}
	if again, code := p.Play(); code != 0 || ansible.Changed(again) != "0" || l.facts() != want {
		l.t.Errorf("a second time it ends with %d:\n%s", code, again)
	}
}
