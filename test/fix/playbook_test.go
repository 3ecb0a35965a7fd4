package fix_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// A script that carries a plan does on real servers what fix does, takes it
// back, and does nothing where a value is no longer the one it was made for.
func TestScriptOnRealServers(t *testing.T) {
	my, pg := server(t, "mysql"), server(t, "postgres")
	state := t.TempDir()
	sets := []string{"fix", "--set", "mysql:14963#sync_binlog=1", "--set", "mysql:14963#innodb_io_capacity=400", "--set", "postgres:14964#random_page_cost=1.1",
		"--set", "postgres:14964#log_checkpoints=off", "--state", state}
	plan := func() string {
		out, _ := plumb(t, 0, append(sets, "--dry-run")...)
		return out
	}
	values := func() string {
		return ask(t, my, "SELECT @@GLOBAL.sync_binlog, @@GLOBAL.innodb_io_capacity") + ask(t, pg, "SHOW random_page_cost") + ask(t, pg, "SHOW log_checkpoints")
	}
	first, before := plan(), values()
	text, _ := plumb(t, 0, append(sets, "--emit", "shell")...)
	script := filepath.Join(t.TempDir(), "fix.sh")
	must(t, os.WriteFile(script, []byte(text), 0o600))
	try := func(verb string) (string, error) {
		cmd := exec.CommandContext(t.Context(), "sh", script, verb, "--state", state)
		cmd.Env = append(os.Environ(), "PLUMB="+built.Path)
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	run := func(verb string) string {
		out, err := try(verb)
		if err != nil {
			t.Fatalf("%s: %v\n%s", verb, err, out)
		}
		return out
	}
	out := run("apply")
	if values() == before {
		t.Errorf("nothing was done:\n%s", out)
	}
	reads(t, plan(), `^Nothing to do`)
	reads(t, run("apply"), `^Nothing to do`)
	run("undo")
	for late := time.Now().Add(time.Minute); values() != before; time.Sleep(20 * time.Millisecond) { // a reload is not at once
		if time.Now().After(late) {
			t.Fatalf("after the undo\n%s\nwant\n%s", values(), before)
		}
	}
	if last := plan(); last != first {
		t.Errorf("after the undo\n%s\nat the start\n%s", last, first)
	}

	ask(t, my, "SET GLOBAL sync_binlog = 7")
	stale := values()
	if out, err := try("apply"); err == nil {
		t.Errorf("a plan that was made for another value went through:\n%s", out)
	}
	if got := values(); got != stale {
		t.Errorf("a plan that was refused left\n%s\nwant\n%s", got, stale)
	}
}
