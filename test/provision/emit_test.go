package provision

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/ansible"
	"plumb/test/sandbox"
)

// emitted is a script that Plumb wrote, on the host for which it was written.
type emitted struct {
	*bench
	file string
}

// emits writes the script.
func (b *bench) emits() emitted {
	b.Helper()
	e := emitted{b, filepath.Join(filepath.Dir(b.spec), "shop.sh")}
	sandbox.Need(b, os.WriteFile(e.file, []byte(b.emit("shell")), 0o600))
	return e
}

// emit gives the plan in a form.
func (b *bench) emit(form string) string {
	b.Helper()
	text, err := b.command("--emit", form).Output()
	sandbox.Need(b, err)
	return string(text)
}

// run runs it. The move of the data is left to Plumb.
func (e emitted) run(verb string) string {
	e.Helper()
	c := exec.Command("sh", e.file, verb)
	out, _ := c.CombinedOutput()
	if c.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), "not done here: move ") {
		e.Fatalf("%s ends with %d:\n%s", verb, c.ProcessState.ExitCode(), out)
	}
	return string(out)
}

// TestScriptLaysOut has the emitted script make a pool and its datasets, twice, and Plumb go on from there.
func TestScriptLaysOut(t *testing.T) {
	sandbox.NeedTime(t, "lays out a server by script: PLUMB_REAL=1 go test ./test/provision -run ScriptLaysOut")
	b := newBench(t, "mariadb")
	b.write(0, 200)
	was, e := b.before(), b.emits()
	if out := e.run("show"); !strings.Contains(out, "would change: the pool "+b.pool) || b.before() != was {
		t.Errorf("show says\n%s\nand there is\n%s\nin place of\n%s", out, b.before(), was)
	}
	t.Log(e.run("apply"))
	if out := e.run("apply"); strings.Contains(out, "changing: ") {
		t.Errorf("a second time:\n%s", out)
	}
	b.goesOn()
}

// goesOn has Plumb do what is left, and take that back.
func (b *bench) goesOn() {
	b.Helper()
	b.Log(b.typed(0, "--yes"))
	if n := b.rows(); n != 200 {
		b.Errorf("200 rows were written, and %d are there", n)
	}
	b.typed(0, "--undo", "--yes")
}

// made tells what was made: datasets and what is set of them, the pool's disks, directories, mounts, files.
func (b *bench) made() string {
	b.Helper()
	out, err := exec.Command("sh", "-ec", `zfs get -r -H -s local -o name,property,value all "$1"; zpool get ashift "$1"
zpool status "$1" | sed -n '/config:/,$p'; find "$2" -xdev ! -name 'change-*' ! -name lock -printf '%P %y %m %U:%G\n' | sort
grep -F " $2/" /proc/mounts | cut -d ' ' -f 1-3; find "$3" -maxdepth 1 -name "*disk*" -printf "%P %m %U:%G %s %n\n" | sort`, "sh", b.pool, b.state, filepath.Dir(b.state)).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// unmake removes what a script made, as nothing of Plumb's would: it keeps no journal. Tests beside this one can have the mounts in
// namespaces of their own, for a moment.
func (b *bench) unmake() {
	b.Helper()
	out, err := exec.Command("sh", "-ec", `for _ in $(seq 120); do ! zpool destroy "$1" || break; sleep 0.5; done; chattr -i "$2"/new-*; rm -r "$2"; find "$3" -maxdepth 1 -name "*disk*" -delete`, "sh", b.pool, b.state, filepath.Dir(b.state)).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	for _, statement := range []string{"DROP DATABASE spare", "DROP USER games@localhost"} {
		sandbox.Need(b, b.server.Exec(statement))
	}
}

// TestPlaybookLaysOut has Ansible itself play the emitted playbook, with --check and twice: it makes what the script makes, to
// the bit, each finds nothing to do where the other has been, and Plumb goes on from there.
func TestPlaybookLaysOut(t *testing.T) {
	sandbox.NeedTime(t, "lays out a server by playbook: PLUMB_REAL=1 go test ./test/provision -run PlaybookLaysOut")
	b := newBench(t, "mariadb")
	b.write(0, 200)
	was, e, p := b.before(), b.emits(), ansible.New(t, b.emit("ansible"))
	play := func(more ...string) (changed string) {
		t.Helper()
		out, code := p.Play(more...)
		if code != 2 || !strings.Contains(out, "not done here: move ") || strings.Count(out, "fatal: ") != 1 {
			t.Fatalf("%v ends with %d:\n%s", more, code, out)
		}
		return ansible.Changed(out)
	}
	would := play("--check")
	if now := b.before(); now != was {
		t.Errorf("--check left\n%s\nin place of\n%s", now, was)
	}
	e.run("apply")
	want := b.made()
	if again := play(); again != "0" {
		t.Errorf("where the script has been, the playbook changes %s", again)
	}
	b.unmake()
	if now := b.before(); now != was {
		t.Fatalf("what the script made was not removed: there is\n%s\nin place of\n%s", now, was)
	}
	if did := play(); did != would || did == "0" {
		t.Errorf("--check would change %s, and %s were changed", would, did)
	}
	if got := b.made(); got != want {
		t.Errorf("the playbook makes\n%s\nand the script\n%s", got, want)
	}
	if again := play(); again != "0" {
		t.Errorf("a second time it changes %s", again)
	}
	if out := e.run("apply"); strings.Contains(out, "changing: ") {
		t.Errorf("where the playbook has been, the script says\n%s", out)
	}
	b.goesOn()
}
