package fix_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A plan written as a script does on real servers what fix does, and takes it
// back.
func TestScriptOnRealServers(t *testing.T) {
	my, pg := server(t, "mysql"), server(t, "postgres")
	sets := []string{"fix", "--set", "mysql:54963#sync_binlog=1", "--set", "mysql:54963#innodb_io_capacity=400", "--set", "postgres:54964#random_page_cost=1.1",
		"--set", "postgres:54964#log_checkpoints=off", "--state", t.TempDir()}
	plan := func() string {
		out, _ := plumb(t, 0, append(sets, "--dry-run")...)
		return out
	}
	values := func() string {
		time.Sleep(300 * time.Millisecond) // a reload is not at once
		return ask(t, my, "SELECT @@GLOBAL.sync_binlog, @@GLOBAL.innodb_io_capacity") + ask(t, pg, "SHOW random_page_cost") + ask(t, pg, "SHOW log_checkpoints")
	}
	first, before := plan(), values()
	text, _ := plumb(t, 0, append(sets, "--emit", "shell")...)
	script := filepath.Join(t.TempDir(), "fix.sh")
	must(t, os.WriteFile(script, []byte(text), 0o600))
	run := func(verb string) string {
		cmd := exec.CommandContext(t.Context(), "sh", script, verb)
		cmd.Env = append(os.Environ(), "PLUMB_STATE="+filepath.Join(filepath.Dir(script), "state"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", verb, err, out)
		}
		return string(out)
	}
	out := run("apply")
	if values() == before {
		t.Errorf("nothing was done:\n%s", out)
	}
	reads(t, plan(), `^Nothing to do`)
	reads(t, run("apply"), `is 1 already`, `holds it already`)
	run("undo")
	if got := values(); got != before {
		t.Errorf("after the undo\n%s\nwant\n%s", got, before)
	}
	if last := plan(); last != first {
		t.Errorf("after the undo\n%s\nat the start\n%s", last, first)
	}
}
