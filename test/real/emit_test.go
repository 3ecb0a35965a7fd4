package real

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	checkview "plumb/internal/view/check"
	"plumb/test/sandbox"
)

// emit gives the settings that plumb prints for one target, and the steps of
// the plan they come from.
func emit(t *testing.T, target string, only stack.Ref) (string, []advise.Step) {
	t.Helper()
	text := printed(t, "check", "--emit", target, "--only", only.String())
	var doc struct{ Plan advise.Plan }
	if err := json.Unmarshal([]byte(printed(t, "check", "--json", "--only", only.String())), &doc); err != nil {
		t.Fatal(err)
	}
	var mine []advise.Step
	for _, s := range doc.Plan.Steps {
		if s.Knob.Of == only {
			mine = append(mine, s)
		}
	}
	if len(mine) < 3 {
		t.Fatalf("the plan has %d steps for %s, want at least 3:\n%s", len(mine), only, text)
	}
	return text, mine
}

func printed(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(shared.plumb.Path, args...).Output()
	if err != nil {
		t.Fatalf("plumb %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}

// inForce demands that a server runs with what the steps asked for.
func inForce(t *testing.T, ref stack.Ref, s *stack.Stack, steps []advise.Step, text string) {
	t.Helper()
	server := s.Find(ref)
	for _, step := range steps {
		if got, _ := server.Get(step.Knob.Name); !got.Equal(step.To) {
			t.Errorf("%s is %v after a start with what was emitted, want %v:\n%s", step.Knob.Name, got, step.To, text)
		}
	}
}

func TestMariaDBTakesWhatIsEmitted(t *testing.T) {
	const old = "log_bin\nbinlog_format=STATEMENT\ninnodb_doublewrite=0\ninnodb_flush_log_at_trx_commit=2\ngeneral_log=1\n"
	b := box(t)
	sick, err := b.MySQL(sandbox.MySQLOptions{Name: "sick", Port: freePort(t), Settings: old})
	check(t, err)
	text, steps := emit(t, "my.cnf", refOf(t, look(t), sick))
	well, err := b.MySQL(sandbox.MySQLOptions{Name: "well", Port: freePort(t), Settings: old + text})
	if err != nil {
		t.Fatalf("MariaDB does not start with this appended: %v\n%s", err, text)
	}
	s := look(t)
	inForce(t, refOf(t, s, well), s, steps, text)
}

func TestPostgresTakesWhatIsEmitted(t *testing.T) {
	const old = "fsync = off\nautovacuum = off\nsynchronous_commit = off\nshared_buffers = 16MB\ntrack_counts = off\n"
	b := box(t)
	sick, err := b.Postgres(sandbox.PostgresOptions{Name: "sick", Port: freePort(t), Settings: old})
	check(t, err)
	text, steps := emit(t, "postgresql.conf", refOf(t, look(t), sick))
	well, err := b.Postgres(sandbox.PostgresOptions{Name: "well", Port: freePort(t), Settings: old + text})
	if err != nil {
		t.Fatalf("PostgreSQL does not start with this appended: %v\n%s", err, text)
	}
	s := look(t)
	inForce(t, refOf(t, s, well), s, steps, text)
}

func TestZFSTakesWhatIsEmitted(t *testing.T) {
	b := box(t)
	mysqlOn(t, b, dataset(t, b, nil, "recordsize=128K", "logbias=throughput"), bufferedOnZFS)
	text := printed(t, "check", "--emit", "zfs")
	mine := regexp.MustCompile(`(?m)^zfs set (\S+)=(\S+) (` + strings.ReplaceAll(filepath.Base(b.Dir), "-", "") + `\S*)$`)
	lines := mine.FindAllStringSubmatch(text, -1)
	if len(lines) < 2 {
		t.Fatalf("want recordsize and logbias set:\n%s", text)
	}
	for _, l := range lines {
		if out, err := exec.Command("sh", "-c", l[0]).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", l[0], err, out)
		}
		out, err := exec.Command("zfs", "get", "-H", "-o", "value", l[1], l[3]).Output()
		if err != nil || strings.TrimSpace(string(out)) != l[2] {
			t.Errorf("%s is %s after %s (%v)", l[1], out, l[0], err)
		}
	}
}

// hostPlan asks for one setting of every form that the kernel takes.
func hostPlan() advise.Plan {
	of := stack.Ref{Kind: "host", Name: "h"}
	disk := stack.Ref{Kind: "block", Name: "vda"}
	step := func(of stack.Ref, name string, to stack.Value) advise.Step {
		return advise.Step{Knob: stack.Knob{Of: of, Name: name}, To: to, Because: "a reason; with \"quotes\"", Why: []string{"kernel/some-rule"}}
	}
	return advise.Plan{Host: "h", Steps: []advise.Step{
		step(of, "vm_swappiness", stack.Int(1)), step(of, "vm_dirty_bytes", stack.Int(1<<30)), step(of, "fs_aio_max_nr", stack.Int(1048576)),
		step(of, "thp_enabled", stack.Text("never")), step(of, "cpu_governor", stack.Text("performance")),
		step(disk, "scheduler", stack.Text("none")), step(disk, "read_ahead_kb", stack.Int(16)), step(disk, "iostats", stack.Int(1)),
	}}
}

// TestSysctlFormIsWhatSysctlReads compares with sysctl.conf(5) rather than
// run sysctl, which would change the machine: each key has to exist here.
func TestSysctlFormIsWhatSysctlReads(t *testing.T) {
	text, err := checkview.Emit("sysctl", hostPlan(), hosttest.Catalog(t))
	check(t, err)
	n := 0
	for l := range strings.Lines(text) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		key, value, ok := strings.Cut(l, " = ")
		if !ok || strings.ContainsAny(value, " \"'GMK") {
			t.Errorf("not a line of sysctl.conf: %s", l)
		}
		if _, err := os.Stat("/proc/sys/" + strings.ReplaceAll(key, ".", "/")); err != nil {
			t.Errorf("the kernel has no %s: %v", key, err)
		}
		n++
	}
	if n != 3 || !strings.Contains(text, "# w /sys/kernel/mm/transparent_hugepage/enabled - - - - never") {
		t.Errorf("want three settings, and how to set the rest:\n%s", text)
	}
}

func TestUdevFormIsWhatUdevReads(t *testing.T) {
	text, err := checkview.Emit("udev", hostPlan(), hosttest.Catalog(t))
	check(t, err)
	line := regexp.MustCompile(`^ACTION=="add\|change", SUBSYSTEM=="block", KERNEL=="vda", ATTR\{queue/(scheduler|read_ahead_kb|iostats)\}="(none|16|1)"$`)
	n := 0
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l == "" || strings.HasPrefix(l, "#") {
			continue
		}
		if n++; !line.MatchString(l) {
			t.Errorf("not a udev rule: %s", l)
		}
	}
	if n != 3 {
		t.Errorf("%d rules, want 3:\n%s", n, text)
	}
	verify, err := exec.LookPath("udevadm")
	if err != nil {
		t.Skip("no udevadm: its verify was not asked")
	}
	file, err := box(t).Write("60-plumb.rules", text)
	check(t, err)
	out, err := exec.Command(verify, "verify", "--no-style", file).CombinedOutput()
	if err != nil && strings.Contains(string(out), "Unknown command") {
		t.Skip("this udevadm has no verify")
	}
	if err != nil {
		t.Errorf("udevadm verify: %v: %s\n%s", err, out, text)
	}
}
