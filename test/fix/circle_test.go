package fix_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// findings are the rules that fire on some things, with what they ask for.
func findings(t *testing.T, only string) []string {
	t.Helper()
	out, _ := plumb(t, 0, "check", "--json", "--only", only)
	var doc struct {
		Findings []struct {
			Rule  string `json:"rule"`
			Cases []struct {
				Remedies []json.RawMessage `json:"remedies"`
			} `json:"cases"`
		} `json:"findings"`
	}
	must(t, json.Unmarshal([]byte(out), &doc))
	var all []string
	for _, f := range doc.Findings {
		all = append(all, fmt.Sprintf("%s %d", f.Rule, len(f.Cases)))
	}
	slices.Sort(all)
	return all
}

// found waits until a check finds again what it found: what other work of the machine makes a rule say passes.
func found(t *testing.T, only string, want []string, when string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; {
		got := findings(t, only)
		if slices.Equal(got, want) {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s\n%v\nat the start\n%v", when, got, want)
		}
	}
}

// check, fix, check: the rules that were applied are quiet. undo, check: as at
// the start.
func TestCircle(t *testing.T) {
	my, pg := server(t, "mysql"), server(t, "postgres")
	must(t, pg.Exec("ALTER SYSTEM SET full_page_writes = off", "SELECT pg_reload_conf()"))
	defer pg.Exec("ALTER SYSTEM RESET full_page_writes", "SELECT pg_reload_conf()")
	becomes(t, pg, "SHOW full_page_writes", "off")
	const only = "mysql:14963,postgres:14964"
	dir := t.TempDir()
	plan, journal := filepath.Join(dir, "plan.json"), filepath.Join(dir, "plumb")
	first := findings(t, only)
	if !slices.ContainsFunc(first, func(f string) bool { return strings.HasPrefix(f, "mysql/sync-binlog-off") }) {
		t.Fatalf("nothing is out of line: %v", first)
	}
	plumb(t, 0, "check", "--plan", plan, "--only", only)
	out, _ := plumb(t, 0, "fix", plan, "--dry-run", "--state", journal)
	reads(t, out, `mysql:14963`, `sync_binlog: 0 -> 1`, `postgres:14964`, `full_page_writes: off -> on`, `may lose the last transactions -> safe`)
	if _, err := os.Stat(journal); err == nil {
		t.Error("a dry run began a journal")
	}
	found(t, only, first, "a dry run changed something")
	out, _ = plumb(t, 0, "fix", plan, "--yes", "--state", journal)
	reads(t, out, `sync_binlog = 1 · done; the rule no longer fires`, `full_page_writes = on · done; the rule no longer fires`)
	for _, f := range findings(t, only) {
		if strings.HasPrefix(f, "mysql/sync-binlog-off") || strings.Contains(f, "full-page-writes-off") {
			t.Errorf("%s still fires", f)
		}
	}
	if got := ask(t, my, "SELECT @@GLOBAL.sync_binlog"); got != "1\n" {
		t.Errorf("sync_binlog is %s", got)
	}
	out, _ = plumb(t, 0, "fix", plan, "--yes", "--state", journal)
	reads(t, out, `Nothing to do`)
	plumb(t, 0, "undo", "--yes", "--state", journal)
	found(t, only, first, "after the undo")
	var doc struct{ Changes []struct{ State string } }
	out, _ = plumb(t, 0, "history", "--json", "--state", journal)
	must(t, json.Unmarshal([]byte(out), &doc))
	if len(doc.Changes) != 1 || doc.Changes[0].State != "undone" {
		t.Errorf("%s", out)
	}
}

// The dead man's switch: a change that nobody confirms goes, also when the
// Plumb that made it is killed; one that is confirmed stays.
func TestTry(t *testing.T) {
	s := server(t, "mysql")
	capacity := func() string { return strings.TrimSpace(ask(t, s, "SELECT @@GLOBAL.innodb_io_capacity")) }
	args := func(dir, try string) []string {
		return []string{"fix", "--yes", "--set", "mysql:14963#innodb_io_capacity=700", "--try", try, "--state", filepath.Join(dir, "plumb")}
	}
	was := capacity()
	wait := func(want string, limit time.Duration) bool {
		for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if capacity() == want {
				return true
			}
		}
		return false
	}

	dir := t.TempDir()
	out, _ := plumb(t, 0, args(dir, "15s")...) // long enough for what is looked at before, on a busy machine too
	reads(t, out, `undone in 15s unless you type: plumb confirm`)
	if capacity() != "700" {
		t.Fatalf("it is %s", capacity())
	}
	if !wait(was, time.Minute) {
		t.Fatal("nobody confirmed, and it was not undone")
	}
	out, _ = plumb(t, 0, "history", "--state", filepath.Join(dir, "plumb"))
	reads(t, out, `undone$`)

	dir = t.TempDir()
	cmd := exec.Command(built.Path, args(dir, "6s")...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	must(t, cmd.Start())
	appears(filepath.Join(dir, "plumb/change-000001.journal"), time.Minute)
	if !wait("700", time.Minute) {
		t.Fatal("it was never changed")
	}
	must(t, syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)) // the terminal's whole group
	cmd.Wait()
	if !wait(was, time.Minute) {
		t.Fatal("Plumb was killed, and what it did was not undone")
	}

	dir = t.TempDir()
	plumb(t, 0, args(dir, "15s")...)
	out, _ = plumb(t, 0, "confirm", "--state", filepath.Join(dir, "plumb"))
	reads(t, out, `^Change 1 is kept`)
	time.Sleep(17 * time.Second)
	if capacity() != "700" {
		t.Errorf("confirmed, and undone: %s", capacity())
	}
	plumb(t, 3, "confirm", "--state", filepath.Join(dir, "plumb"))
	plumb(t, 0, "undo", "--yes", "--state", filepath.Join(dir, "plumb"))
	if capacity() != was {
		t.Errorf("undo left %s", capacity())
	}
}

// What is wrong with a plan is said before the first change.
func TestBadPlans(t *testing.T) {
	my := server(t, "mysql")
	before := ask(t, my, "SELECT @@GLOBAL.sync_binlog, @@GLOBAL.innodb_io_capacity")
	dir := t.TempDir()
	journal := filepath.Join(dir, "plumb")
	plan := func(host string, steps ...string) string {
		name := filepath.Join(dir, "plan.json")
		text := fmt.Sprintf(`{"plumb":1,"kind":"plan","host":%q,"taken_at":"2026-01-01T00:00:00Z","steps":[%s]}`, host, strings.Join(steps, ","))
		must(t, os.WriteFile(name, []byte(text), 0o600))
		return name
	}
	step := func(of, name, from, to string) string {
		return fmt.Sprintf(`{"knob":{"of":%q,"name":%q},"from":%s,"to":%s,"because":"a test","why":[],"effect":"now","durability_from":"safe","durability_to":"safe"}`, of, name, from, to)
	}
	good := step("mysql:14963", "innodb_io_capacity", "200", "900")
	for name, c := range map[string]struct {
		steps []string
		host  string
		flags []string
		code  int
		out   string
		errs  string
	}{
		"another host":    {[]string{good}, "elsewhere", nil, 3, ``, `is for the host elsewhere, and this is`},
		"stale":           {[]string{good, step("mysql:14963", "sync_binlog", "5", "1")}, "", nil, 3, `the plan is out of date: the value was 5 when it was made, and is 0 now`, `refused as a whole`},
		"unknown knob":    {[]string{good, step("mysql:14963", "inodb_io", "1", "2")}, "", nil, 3, `not a setting that Plumb knows`, `refused as a whole`},
		"another server":  {[]string{good, step("mysql:1", "sync_binlog", "0", "1")}, "", nil, 3, `mysql:1 is not on this host`, `refused as a whole`},
		"out of range":    {[]string{good, step("mysql:14963", "innodb_io_capacity", "200", "5")}, "", nil, 3, `below the minimum, 100`, `refused as a whole`},
		"less durable":    {[]string{good, step("mysql:14963", "innodb_flush_log_at_trx_commit", "1", "2")}, "", nil, 3, `less durable than now: may lose the last transactions`, `refused as a whole`},
		"nobody to ask":   {[]string{good}, "", []string{"--ask"}, 2, ``, `cannot ask`},
		"fixed when made": {[]string{step("mysql:14963", "innodb_page_size", "16384", "8192")}, "", nil, 1, `fixed when|is not a setting|read only|only at startup`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			args := []string{"fix", plan(c.host, c.steps...), "--state", journal, "--yes"}
			if c.flags != nil {
				args = args[:len(args)-1]
			}
			out, errs := plumb(t, c.code, args...)
			if c.out != "" {
				reads(t, strings.Join(strings.Fields(out), " "), c.out)
			}
			if c.errs != "" {
				reads(t, errs, c.errs)
			}
			if now := ask(t, my, "SELECT @@GLOBAL.sync_binlog, @@GLOBAL.innodb_io_capacity"); now != before {
				t.Errorf("something was changed: %s", now)
			}
		})
	}
	_, errs := plumb(t, 2, "fix", "--set", "mysql:14963#sync_binlgo=1")
	reads(t, errs, `there is no setting sync_binlgo`, `^hint: did you mean sync_binlog`)
	_, errs = plumb(t, 3, "fix", filepath.Join(dir, "missing.json"))
	reads(t, errs, `missing.json: no such file`)
	must(t, os.WriteFile(filepath.Join(dir, "not.json"), []byte(`{"kind":"check"}`), 0o600))
	_, errs = plumb(t, 3, "fix", filepath.Join(dir, "not.json"))
	reads(t, errs, `want kind "plan"`)
}

// A plan of which a part is not permitted is refused whole, with the list.
func TestHalfPermitted(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	server(t, "mysql") // nobody may read its socket's directory or log in
	open := t.TempDir()
	must(t, os.Chmod(open, 0o777))
	program := filepath.Join(open, "plumb")
	text, err := os.ReadFile(built.Path)
	must(t, err)
	must(t, os.WriteFile(program, text, 0o755))
	for dir := open; dir != "/"; dir = filepath.Dir(dir) {
		must(t, os.Chmod(dir, 0o777))
		if dir == os.TempDir() {
			must(t, os.Chmod(dir, 0o777|os.ModeSticky))
			break
		}
	}
	host, err := os.Hostname()
	must(t, err)
	cmd := exec.Command(program, "fix", "--yes", "--set", "host:"+host+"#vm_swappiness=11", "--state", filepath.Join(open, "state"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, _ := cmd.CombinedOutput()
	if strings.Contains(string(out), "it belongs to the host") {
		t.Skip("a container has no right that could be missing: the kernel's settings belong to its host")
	}
	if cmd.ProcessState.ExitCode() != 3 {
		t.Errorf("exit %d: %s", cmd.ProcessState.ExitCode(), out)
	}
	reads(t, string(out), `RIGHTS THAT ARE MISSING`, `/proc/sys/vm/swappiness: permission denied`, `sysctl.d`, `refused as a whole`)
	if got := content("/proc/sys/vm/swappiness"); got == "11\n" {
		t.Error("it was set all the same")
	}
}

// Two Plumbs at once: the second waits for nobody and says so.
func TestTwoAtOnce(t *testing.T) {
	dir := image(t)
	lock := filepath.Join(dir, "var/lib/plumb/lock")
	must(t, os.MkdirAll(filepath.Dir(lock), 0o755))
	f, err := os.OpenFile(lock, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	defer f.Close()
	must(t, syscall.Flock(int(f.Fd()), syscall.LOCK_EX))
	was := tree(t, dir)
	_, errs := plumb(t, 3, "fix", "--root", dir, "--yes", "--set", "host:x#vm_swappiness=10")
	reads(t, errs, `another Plumb is changing this host`)
	if now := tree(t, dir); now != was {
		t.Errorf("changed: %s", now)
	}
}
