// Package lab runs the built plumb lab on real volumes and servers.
package lab

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	"plumb/test/program"
	"plumb/test/sandbox"
)

var plumb program.Program

func TestMain(m *testing.M) { program.Main(m, &plumb) }

// lab is a lab in a directory of its own.
type lab struct {
	t                  *testing.T
	dir, ledger, state string
	groups             []string // control groups of labs that were there before
}

func newLab(t *testing.T) lab {
	t.Helper()
	dir := sandbox.Place(t)
	return lab{t, dir, filepath.Join(dir, "ledger"), filepath.Join(dir, "state"), groups()}
}

// groups lists the control groups that labs made.
func groups() []string {
	v1, _ := filepath.Glob("/sys/fs/cgroup/*/plumb-lab-*")
	v2, _ := filepath.Glob("/sys/fs/cgroup/plumb-lab-*")
	return append(v1, v2...)
}

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

func needRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("volumes of their own need root")
	}
}

func needServer(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		if found, _ := filepath.Glob(n); len(found) == 0 {
			t.Skipf("%s is not installed", n)
		}
	}
}

const (
	mariadb  = "/usr/sbin/mariadbd"
	postgres = "/usr/lib/postgresql/*/bin/postgres"
)

func (l lab) args(file string, more ...string) []string {
	return append([]string{"lab", "run", file, "--dir", l.dir, "--ledger", l.ledger, "--state", l.state, "--no-capture"}, more...)
}

// run runs an experiment to its end.
func (l lab) run(file string, more ...string) string {
	l.t.Helper()
	out, errs := plumb.Run(l.t, 0, l.args(file, more...)...)
	l.t.Log(errs) // what a resumed run swept
	return out
}

// records reads what the ledger has of an experiment.
func (l lab) records(file string) (experiment.Experiment, []experiment.Record) {
	l.t.Helper()
	text, err := os.ReadFile(file)
	must(l.t, err)
	x, err := experiment.Parse(file, text)
	must(l.t, err)
	store, err := ledger.Open(l.t.Context(), l.ledger)
	must(l.t, err)
	defer store.Close()
	records, err := store.Records(l.t.Context(), x.Hash)
	must(l.t, err)
	return x, records
}

// nothingLeft wants that nothing below the lab's directory is in use any more. Labs of other packages' tests have groups
// too, and take them away when they end.
func (l lab) nothingLeft() {
	l.t.Helper()
	left := slices.DeleteFunc(groups(), func(name string) bool { return slices.Contains(l.groups, name) })
	for late := time.Now().Add(5 * time.Minute); len(left) > 0 && time.Now().Before(late); time.Sleep(100 * time.Millisecond) {
		left = slices.DeleteFunc(left, func(name string) bool { _, err := os.Stat(name); return err != nil })
	}
	sandbox.NothingLeft(l.t, l.dir, l.state, left...)
}

// trials lists which arm of which block was carried out to its end, in the
// order of the blocks. Those that the machine disturbed meanwhile are among
// them: they are kept and marked, as they should be.
func trials(records []experiment.Record) (all []string) {
	set := map[string]bool{}
	for _, r := range records {
		if !slices.ContainsFunc(r.Marks, ours) {
			set[fmt.Sprintf("%03d %s", r.Block, r.Arm)] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// ours tells of a mark whether it is the lab's doing, and not that of a
// machine which lent less time.
func ours(m experiment.Mark) bool {
	return m.Kind != experiment.MarkThrottle && m.Kind != experiment.MarkDisturbed
}

// marks says why trials do not count.
func marks(records []experiment.Record) (all []string) {
	for _, r := range records {
		for _, m := range r.Marks {
			all = append(all, fmt.Sprintf("%03d %s: %s: %s", r.Block, r.Arm, m.Kind, m.Text))
		}
	}
	return all
}

func wanted(x experiment.Experiment) (all []string) {
	for _, t := range experiment.All(x) {
		all = append(all, fmt.Sprintf("%03d %s", t.Block, t.Arm))
	}
	slices.Sort(all)
	return all
}

func TestDirectory(t *testing.T) {
	needServer(t, postgres)
	l := newLab(t)
	out := l.run("testdata/tiny.yaml")
	program.Reads(t, out, "Does it matter whether a commit waits", "does not wait")
	x, records := l.records("testdata/tiny.yaml")
	if got := trials(records); !slices.Equal(got, wanted(x)) {
		t.Errorf("trials: %v\nwant %v\n%s", got, wanted(x), out)
	}
	for _, r := range records {
		want := map[string]string{"waits": "on", "does not wait": "off"}[r.Arm]
		if r.Effective["synchronous_commit"] != want || r.Effective["shared_buffers"] == "" {
			t.Errorf("%s: synchronous_commit read back as %q", r.Arm, r.Effective["synchronous_commit"])
		}
		if r.Rate.Value <= 0 || len(r.Ops) == 0 || len(r.Series) < 2 || len(r.Costs) == 0 {
			t.Errorf("a record without figures: %+v", r)
		}
	}
	l.nothingLeft()
	again, errs := plumb.Run(t, 3, l.args("testdata/tiny.yaml")...)
	program.Reads(t, errs, "4 trials of this experiment already", "--resume")
	if again != "" {
		t.Errorf("printed %q", again)
	}
}

// inForce wants that each arm was measured with its own setting. Which is faster a machine that has other work does not tell.
func inForce(t *testing.T, records []experiment.Record, setting string, of map[string]string) {
	t.Helper()
	for _, r := range records {
		if got, want := r.Effective[setting], of[r.Arm]; r.Valid() && (got != want || r.Rate.Value <= 0) {
			t.Errorf("%s of block %d was measured with %s=%q: %+v", r.Arm, r.Block, setting, got, r.Rate)
		}
	}
}

func TestSwitched(t *testing.T) {
	needServer(t, mariadb)
	l := newLab(t)
	l.run("testdata/switched.yaml")
	x, records := l.records("testdata/switched.yaml")
	if got := trials(records); !slices.Equal(got, wanted(x)) {
		t.Errorf("trials: %v, want %v; marked: %q", got, wanted(x), marks(records))
	}
	if r := report.Make(x, records); len(r.Arms) != 2 {
		t.Errorf("%+v", r.Arms)
	}
	inForce(t, records, "innodb_flush_log_at_trx_commit", map[string]string{"safe": "1", "unsafe": "0"})
	l.nothingLeft()
}

// Servers that take turns stand still while another is driven, and one that
// does not start leaves the others to it.
func TestTurns(t *testing.T) {
	needServer(t, postgres)
	if os.Getuid() != 0 {
		t.Skip("servers that take turns need root")
	}
	l := newLab(t)
	l.run("testdata/turns.yaml")
	_, records := l.records("testdata/turns.yaml")
	if got := trials(records); !slices.Equal(got, []string{"001 safe", "001 unsafe", "002 safe", "002 unsafe"}) {
		t.Errorf("trials: %v; marked: %q", got, marks(records))
	}
	for _, r := range records {
		if got := measuredTime(r); r.Valid() && (got < 5.5 || got > 7) {
			t.Errorf("%s of block %d was measured for %.1f s in its turns, and 6 were asked for", r.Arm, r.Block, got)
		}
	}
	inForce(t, records, "synchronous_commit", map[string]string{"safe": "on", "unsafe": "off"})
	l.nothingLeft()
}

// measuredTime is how long a trial was measured, in seconds.
func measuredTime(r experiment.Record) (s float64) {
	for _, one := range r.Series {
		if !one.Warmup {
			s += one.Length
		}
	}
	return s
}

func TestRefusedConfiguration(t *testing.T) {
	needServer(t, postgres)
	l := newLab(t)
	out := l.run("testdata/refused.yaml")
	program.Reads(t, out, "no_such_setting")
	_, records := l.records("testdata/refused.yaml")
	if got := trials(records); !slices.Equal(got, []string{"001 also fine", "001 fine", "002 also fine", "002 fine"}) {
		t.Errorf("trials: %v; marked: %q", got, marks(records))
	}
	l.nothingLeft()
}
