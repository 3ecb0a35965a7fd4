// Package rehearse runs the built plumb rehearse against real servers.
package rehearse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/stack"
	"plumb/test/program"
	"plumb/test/sandbox"
)

var plumb program.Program

func TestMain(m *testing.M) { program.Main(m, &plumb) }

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

// minutes is why a rehearsal that runs to its end is skipped.
const minutes = "a whole rehearsal takes minutes: make test-real does it"

// place is where a rehearsal puts what it makes.
type place struct {
	t                  *testing.T
	dir, ledger, state string
	labs               map[string]bool // names of the labs' directories that were seen
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir := sandbox.Place(t)
	return place{t, dir, filepath.Join(dir, "ledger"), filepath.Join(dir, "state"), map[string]bool{}}
}

func (p place) args(more ...string) []string {
	return append([]string{"rehearse", "--dir", p.dir, "--ledger", p.ledger, "--state", p.state}, more...)
}

// ended is how a run of plumb ended.
type ended struct {
	code      int
	out, errs string
	took      time.Duration
}

// run runs plumb, and interrupts or kills it when sig is not 0, some time after it has made a lab.
func (p place) run(limit time.Duration, sig syscall.Signal, after time.Duration, args ...string) ended {
	p.t.Helper()
	cmd := exec.Command(plumb.Path, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	must(p.t, cmd.Start())
	late := time.AfterFunc(limit, func() { cmd.Process.Kill() })
	defer late.Stop()
	over := make(chan struct{})
	go func() { cmd.Wait(); close(over) }()
	p.watch(over, func() {
		if sig != 0 {
			time.AfterFunc(after, func() { cmd.Process.Signal(sig) }) // one that has ended hears nothing
		}
	})
	e := ended{cmd.ProcessState.ExitCode(), out.String(), errs.String(), time.Since(began)}
	p.t.Logf("plumb %s: exit %d after %s\n%s%s", strings.Join(args, " "), e.code, e.took.Round(time.Second), e.errs, e.out)
	return e
}

// watch notes which labs there are, until a run is over: others may run their
// own on this machine. It tells once that there is one.
func (p place) watch(over chan struct{}, begun func()) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	begun = sync.OnceFunc(begun)
	for {
		dirs, _ := filepath.Glob(p.dir + "/plumb-lab-*")
		for _, d := range dirs {
			p.labs[filepath.Base(d)] = true
			begun()
		}
		select {
		case <-over:
			return
		case <-tick.C:
		}
	}
}

// nothingLeft wants that nothing of a sandbox is in use any more.
func (p place) nothingLeft() {
	p.t.Helper()
	var groups []string
	for name := range p.labs {
		for _, pattern := range []string{"/sys/fs/cgroup/*/" + name, "/sys/fs/cgroup/" + name} {
			found, _ := filepath.Glob(pattern)
			groups = append(groups, found...)
		}
	}
	sandbox.NothingLeft(p.t, p.dir, p.state, groups...)
}

// starved starts a MariaDB whose buffer pool and redo log are far too small
// for its rows.
func starved(t *testing.T, rows int) (name string) {
	t.Helper()
	b := sandbox.ForTest(t, "/var/tmp")
	port := sandbox.FreePort(t)
	s, err := b.MySQL(sandbox.MySQLOptions{Port: port, Settings: "innodb_buffer_pool_size = 16M\ninnodb_log_file_size = 8M\n"})
	must(t, err)
	if rows > 0 {
		must(t, s.Exec("CREATE DATABASE app"))
		plumb.Run(t, 0, "load", "oltp", "read_write", "prepare", "--mysql-socket="+s.Socket, "--mysql-user=root", "--mysql-db=app", "--table-size="+fmt.Sprint(rows))
		time.Sleep(12 * time.Second) // what InnoDB says of its tables' size is up to ten seconds old
	}
	return fmt.Sprintf("mysql:%d", port)
}

// planFile writes a plan of steps for a server.
func (p place) planFile(server string, steps ...advise.Step) string {
	p.t.Helper()
	ref, err := stack.ParseRef(server)
	must(p.t, err)
	for i := range steps {
		steps[i].Knob.Of, steps[i].Effect = ref, catalog.Restart
		steps[i].DurabilityFrom, steps[i].DurabilityTo = catalog.Safe, catalog.Safe
	}
	text, err := json.Marshal(advise.Plan{Plumb: advise.PlanVersion, Kind: "plan", TakenAt: time.Now(), Steps: steps})
	must(p.t, err)
	name := filepath.Join(p.dir, "plan.json")
	must(p.t, os.WriteFile(name, text, 0o644))
	return name
}

func pool(size int64) advise.Step {
	return advise.Step{Knob: stack.Knob{Name: "innodb_buffer_pool_size"}, To: stack.Int(size), Because: "the cache is small", Why: []string{"mysql/buffer-pool-default"}}
}

// refused is a value with which the server does not start.
func refused() advise.Step {
	return advise.Step{Knob: stack.Knob{Name: "innodb_flush_method"}, To: stack.Text("nonsense"), Because: "a test wants it"}
}

// A dry run shows what would be tried, and makes nothing, wherever it would be.
func TestDryRun(t *testing.T) {
	p := newPlace(t)
	server := starved(t, 0)
	plan := p.planFile(server, pool(256<<20), refused())
	e := p.run(time.Minute, 0, 0, "rehearse", plan, "--server", server, "--dry-run", "--ledger", p.ledger, "--state", p.state)
	if e.code != 0 {
		t.Fatal("it failed")
	}
	program.Reads(t, e.out, "innodb_buffer_pool_size", "innodb_flush_method", "as is", "all advice", "Nothing was made or changed")
	for _, name := range []string{p.ledger, p.state} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s was made", name)
		}
	}
	p.nothingLeft()
}

// A sandbox that does not fit is refused before anything is made, with what
// would fit; one on another filesystem says so.
func TestPlaces(t *testing.T) {
	p := newPlace(t)
	server := starved(t, 0)
	b := sandbox.ForTest(t, "/var/tmp")
	small, err := b.Filesystem("small", "ext4", 800, nil, "")
	must(t, err)
	must(t, errors.Join(os.Chown(b.Dir, 0, 0), os.Chown(small, 0, 0))) // root makes no lab where others can rename it
	plan := p.planFile(server, pool(256<<20))
	p.dir = small
	e := p.run(time.Minute, 0, 0, p.args(plan, "--server", server, "--data", "1G")...)
	if e.code != 3 {
		t.Error("it is not refused")
	}
	program.Reads(t, e.errs, "^plumb: rehearse: .* free, but the sandbox takes about", "^hint: --data [0-9]+M would fit")
	p.nothingLeft()
	e = p.run(time.Minute, 0, 0, p.args(plan, "--server", server, "--data", "64M", "--dry-run")...)
	if e.code != 0 {
		t.Error("it is refused")
	}
	program.Reads(t, strings.Join(strings.Fields(e.out), " "), "on another filesystem than the server's data")
}

// Of two servers one must be named.
func TestTwoServers(t *testing.T) {
	p := newPlace(t)
	one, other := starved(t, 0), starved(t, 0)
	e := p.run(time.Minute, 0, 0, p.args("--dry-run")...)
	if e.code != 3 {
		t.Error("it is not refused")
	}
	program.Reads(t, e.errs, "there are [0-9]+ servers here: ", one, other, "^hint: name one of them, such as --server ")
}

// What a budget leaves no time for is said before anything starts.
func TestBudgetTooSmall(t *testing.T) {
	p := newPlace(t)
	server := starved(t, 0)
	e := p.run(time.Minute, 0, 0, p.args(p.planFile(server, pool(256<<20)), "--server", server, "--max-time", "31s")...)
	if e.code != 3 {
		t.Error("it is not refused")
	}
	program.Reads(t, e.errs, "^plumb: .*--max-time 31s is too short", "^hint: --max-time [0-9]+m")
	p.nothingLeft()
}

// Interrupted, a rehearsal says what it has learned, leaves nothing, and can
// be gone on with.
func TestInterrupted(t *testing.T) {
	p := newPlace(t)
	server := starved(t, 0)
	plan := p.planFile(server, pool(256<<20))
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		e := p.run(2*time.Minute, sig, 20*time.Second, p.args(plan, "--server", server, "--data", "64M", "--memory", "512M", "--threads", "2", "--max-time", "10m")...)
		if e.code != 3 {
			t.Errorf("exit code %d", e.code)
		}
		program.Reads(t, e.errs, "^plumb: the rehearsal was interrupted", "^hint: plumb rehearse --resume continues it")
		program.Reads(t, e.out, "rehearsal of "+server, "interrupted")
		p.nothingLeft()
	}
	if all, _ := filepath.Glob(p.state + "/rehearsal-*.json"); len(all) != 2 {
		t.Errorf("kept: %v", all)
	}
}

// What helps is kept, and a step with which the server does not start harms
// and keeps nothing from being tried.
func TestHelpsAndHarms(t *testing.T) {
	sandbox.NeedTime(t, minutes)
	if os.Getuid() != 0 {
		t.Skip("a volume of its own needs root")
	}
	p := newPlace(t)
	server := starved(t, 300_000)
	plan, keeps, page := p.planFile(server, pool(256<<20), refused()), filepath.Join(p.dir, "keeps.json"), filepath.Join(p.dir, "page.html")
	const budget = 12 * time.Minute
	e := p.run(budget+2*time.Minute, 0, 0, p.args(plan, "--server", server, "--data", "256M", "--memory", "1G", "--threads", "4", "--workload", "oltp_read_only",
		"--volume", "iops=400,mbps=50", "--max-time", budget.String(), "--plan", keeps, "--html", page)...)
	if e.code != 0 || e.took > budget+time.Minute {
		t.Errorf("exit code %d after %s", e.code, e.took)
	}
	p.nothingLeft()
	text, err := os.ReadFile(keeps)
	must(t, err)
	kept, err := advise.ReadPlan(text)
	must(t, err)
	if len(kept.Steps) != 1 || kept.Steps[0].Knob.Name != "innodb_buffer_pool_size" {
		t.Errorf("kept: %+v", kept.Steps)
	}
	program.Reads(t, e.errs, "^refused by the server: innodb_flush_method = nonsense")
	program.Reads(t, e.out, "^All advice but innodb_flush_method = nonsense helps", "^ *[0-9]+ +innodb_flush_method .* harms$")
	if info, err := os.Stat(page); err != nil || info.Size() < 10_000 {
		t.Errorf("the page: %v, %v", info, err)
	}
}

// Killed again and again, a rehearsal goes on where it was, and leaves
// nothing in the end.
func TestKilledAndResumed(t *testing.T) {
	sandbox.NeedTime(t, minutes)
	p := newPlace(t)
	server := starved(t, 500_000)
	plan := p.planFile(server, pool(256<<20))
	args := p.args(plan, "--server", server, "--data", "64M", "--memory", "512M", "--threads", "2", "--workload", "oltp_read_only", "--max-time", "5m")
	for i := range 3 {
		if i > 0 {
			args = []string{"rehearse", "--resume", "--state", p.state}
		}
		if e := p.run(time.Minute, syscall.SIGKILL, time.Duration(25+10*i)*time.Second, args...); e.code != -1 {
			t.Fatalf("it ended before it could be killed: %d", e.code)
		}
	}
	e := p.run(7*time.Minute, 0, 0, "rehearse", "--resume", "--state", p.state, "--json")
	if e.code != 0 {
		t.Errorf("exit code %d", e.code)
	}
	var doc map[string]any
	plumb.Document(t, "rehearse", e.out, &doc)
	p.nothingLeft()
	if kept, _ := filepath.Glob(p.state + "/rehearsal-*.json"); len(kept) > 1 {
		t.Errorf("kept: %v", kept)
	}
}

// Without a live server, one is made, looked at and rehearsed, within the
// budget.
func TestSandbox(t *testing.T) {
	sandbox.NeedFull(t, "two whole rehearsals take twenty minutes: make test-real FULL=1 does it")
	for _, engine := range []string{"postgres", "mariadb"} {
		t.Run(engine, func(t *testing.T) {
			p := newPlace(t)
			const budget = 9 * time.Minute
			e := p.run(budget+2*time.Minute, 0, 0, p.args("--sandbox", engine, "--volume", "iops=200,mbps=100", "--data", "256M", "--max-time", budget.String())...)
			if e.code != 0 || e.took > budget+time.Minute {
				t.Errorf("exit code %d after %s", e.code, e.took)
			}
			program.Reads(t, e.out, "All advice together (helps|harms|makes no difference)")
			p.nothingLeft()
		})
	}
}
