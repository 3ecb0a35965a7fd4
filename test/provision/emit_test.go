package provision

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// TestScriptLaysOut has the emitted script make a pool and its datasets, twice, and Plumb go on from there.
func TestScriptLaysOut(t *testing.T) {
	sandbox.NeedTime(t, "lays out a server by script: PLUMB_REAL=1 go test ./test/provision -run ScriptLaysOut")
	b := newBench(t, "mariadb")
	b.write(0, 200)
	was := b.before()
	file := filepath.Join(filepath.Dir(b.spec), "shop.sh")
	text, err := b.command("--emit", "shell").Output()
	sandbox.Need(t, err)
	sandbox.Need(t, os.WriteFile(file, text, 0o600))
	run := func(verb string) string {
		t.Helper()
		c := exec.Command("sh", file, verb)
		out, _ := c.CombinedOutput()
		if c.ProcessState.ExitCode() != 4 || !strings.Contains(string(out), "not done here: move ") {
			t.Fatalf("%s ends with %d:\n%s", verb, c.ProcessState.ExitCode(), out)
		}
		return string(out)
	}
	if out := run("show"); !strings.Contains(out, "would change: the pool "+b.pool) || b.before() != was {
		t.Errorf("show says\n%s\nand there is\n%s\nin place of\n%s", out, b.before(), was)
	}
	t.Log(run("apply"))
	if out := run("apply"); strings.Contains(out, "changing: ") {
		t.Errorf("a second time:\n%s", out)
	}
	t.Log(b.typed(0, "--yes"))
	if n := b.rows(); n != 200 {
		t.Errorf("200 rows were written, and %d are there", n)
	}
	b.typed(0, "--undo", "--yes")
}
