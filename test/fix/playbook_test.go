package fix_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"plumb/test/ansible"
	"plumb/test/sandbox"
)

// carrier is what carries a plan to a host: it does it, or takes it back.
type carrier func(verb string) (out string, code int)

// A script that carries a plan does on real servers what fix does.
func TestScriptOnRealServers(t *testing.T) {
	carried(t, "shell", `^Nothing to do`, func(text, state string) carrier {
		script := filepath.Join(t.TempDir(), "fix.sh")
		must(t, os.WriteFile(script, []byte(text), 0o600))
		return func(verb string) (string, int) {
			cmd := exec.CommandContext(t.Context(), "sh", script, verb, "--state", state)
			cmd.Env = append(os.Environ(), "PLUMB="+built.Path)
			out, _ := cmd.CombinedOutput()
			return string(out), cmd.ProcessState.ExitCode()
		}
	})
}

// And so does a playbook, played by Ansible itself, which has none of the collections that hosts without plumb need.
func TestPlaybookOnRealServers(t *testing.T) {
	sandbox.NeedTime(t, "plays a playbook five times: PLUMB_REAL=1 go test ./test/fix -run PlaybookOnReal")
	carried(t, "ansible", `changed=0 `, func(text, state string) carrier {
		p := ansible.New(t, text)
		return func(verb string) (string, int) {
			return p.Play("--tags", verb, "-e", "plumb="+built.Path, "-e", `{"options": ["--state", `+strconv.Quote(state)+`]}`)
		}
	})
}

// carried has a plan done, done again and taken back by what is emitted in a form, and sees that it is refused where a value is
// no longer the one it was made for. idle is what is said when there is nothing to do.
func carried(t *testing.T, form, idle string, by func(text, state string) carrier) {
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
	text, _ := plumb(t, 0, append(sets, "--emit", form)...)
	try := by(text, state)
	run := func(verb string) string {
		t.Helper()
		out, code := try(verb)
		if code != 0 {
			t.Fatalf("%s ends with %d:\n%s", verb, code, out)
		}
		return out
	}
	out := run("apply")
	if values() == before {
		t.Errorf("nothing was done:\n%s", out)
	}
	reads(t, plan(), `^Nothing to do`)
	reads(t, run("apply"), idle)
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
	defer ask(t, my, "SET GLOBAL sync_binlog = 0") // as its file says
	stale := values()
	if out, code := try("apply"); code == 0 {
		t.Errorf("a plan that was made for another value went through:\n%s", out)
	}
	if got := values(); got != stale {
		t.Errorf("a plan that was refused left\n%s\nwant\n%s", got, stale)
	}
}
