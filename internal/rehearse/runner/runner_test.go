package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/host/hosttest"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

const tiny = `experiment: tiny
question: Does it help?
base:
  volume: {kind: directory}
  server: {engine: postgres}
  load: {kind: oltp, script: oltp_read_write, tables: 1, rows: 1000, threads: 2}
arms:
  - {name: as is, set: {}}
  - {name: all advice, set: {server.settings.wal_compression: "on"}}
blocks: {least: 3, most: 8}
measure: {warmup: 2s, time: 5s}
budget: 9m
`

func stageOf(t *testing.T, text string) rehearse.Stage {
	t.Helper()
	x, err := experiment.Parse("all", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return rehearse.Stage{Name: "all", Experiment: x, Text: []byte(text)}
}

// A new rehearsal that is like an earlier one is measured anew, and a budget
// does not make it another.
func TestStampAndBudget(t *testing.T) {
	x := &Runner{Options: Options{Budget: 10 * time.Minute}, began: time.Now(), laid: map[string]bool{}}
	x.proposal.Stages = []rehearse.Stage{stageOf(t, tiny), stageOf(t, tiny)}
	x.reports = make([]report.Report, 2)
	before := x.proposal.Stages[0].Experiment.Hash
	if err := x.stamp(); err != nil {
		t.Fatal(err)
	}
	after := x.proposal.Stages[0].Experiment
	if after.Hash == before || after.Seed != uint64(x.began.Unix()) {
		t.Errorf("seed %d, hash %s", after.Seed, after.Hash)
	}
	first, err := x.share(0)
	if err != nil || first.Hash != after.Hash || first.Budget != 9*time.Minute {
		t.Errorf("the first stage has %s: %v", first.Budget, err)
	}
	last, err := x.share(1)
	if err != nil || last.Budget < 9*time.Minute+45*time.Second || last.Budget > 10*time.Minute {
		t.Errorf("the last stage has %s: %v", last.Budget, err)
	}
	x.spent = 9*time.Minute + 30*time.Second
	if none, err := x.share(0); err != nil || none.Budget != 0 {
		t.Errorf("with half a minute left the first stage has %s: %v", none.Budget, err)
	}
	if err := x.noTime(0); err == nil || x.ended != "" {
		t.Errorf("a rehearsal that shows nothing ends with %v, %q", err, x.ended)
	}
}

// What is left of a budget first decides about all advice, where it can.
func TestNearlyDecided(t *testing.T) {
	for _, c := range []struct {
		stopped, word string
		more          int
		want          bool
	}{
		{report.BudgetUsed, report.Undecided, 2, true},
		{report.BudgetUsed, report.Undecided, 200, false},
		{report.BudgetUsed, report.Undecided, 0, false},
		{report.BudgetUsed, report.Better, 0, false},
		{report.AllDone, report.Undecided, 2, false},
	} {
		x := &Runner{Options: Options{Budget: 10 * time.Minute}, began: time.Now()}
		x.proposal.Stages = []rehearse.Stage{stageOf(t, tiny)}
		x.reports = []report.Report{{Stopped: c.stopped, Verdicts: []report.Comparison{{Word: c.word, More: c.more}}}}
		if got := x.nearlyDecided(0); got != c.want {
			t.Errorf("%+v: %t", c, got)
		}
	}
}

const two = `experiment: two-all
question: Does it help?
base:
  volume: {kind: directory}
  server: {engine: postgres}
  load: {kind: oltp, script: oltp_read_write, tables: 1, rows: 1000, threads: 2}
arms:
  - {name: as is, set: {}}
  - {name: all advice, set: {server.settings.wal_compression: "on", server.settings.fsync: "maybe"}}
compare: [[all advice, as is]]
blocks: {least: 3, most: 8}
measure: {warmup: 2s, time: 5s}
`

// told is a watcher that keeps what it is told.
type told struct {
	Watcher
	to *bytes.Buffer
}

func (w *told) Tell(text string) { w.to.WriteString(text + "\n") }

// Where the server refuses all advice, the steps are tried alone, and then all
// advice without those that are refused, before each step; once only, and where
// there is time.
func TestStagesAreAdded(t *testing.T) {
	fails := func(x experiment.Experiment, arms ...string) report.Report {
		var all []experiment.Record
		for _, trial := range experiment.Order(x, 1) {
			rec := experiment.Record{Trial: trial, Attempt: 1, Metric: 100, Began: time.Unix(int64(len(all)), 0), Ended: time.Unix(int64(len(all)+1), 0)}
			if slices.Contains(arms, trial.Arm) {
				rec.Mark(experiment.MarkFailed, "it did not come up")
			}
			all = append(all, rec)
		}
		return report.Make(x, all)
	}
	begun := func(budget time.Duration) (*Runner, *bytes.Buffer) {
		var said bytes.Buffer
		x := &Runner{Options: Options{Budget: budget}, Ports: Ports{Watch: &told{to: &said}}, began: time.Now(), laid: map[string]bool{}}
		x.proposal.Steps = []rehearse.Step{{Number: 1, Path: "server.settings.wal_compression", Value: "on", Called: "wal_compression = on"}, {Number: 2, Path: "server.settings.fsync", Value: "maybe", Called: "fsync = maybe"}}
		steps := stageOf(t, two)
		steps.Name = "steps"
		x.proposal.Stages = []rehearse.Stage{stageOf(t, two), steps}
		x.reports = make([]report.Report, 2)
		x.reports[0] = fails(x.proposal.Stages[0].Experiment, rehearse.AllAdvice)
		return x, &said
	}
	names := func(x *Runner) (all string) {
		for _, s := range x.proposal.Stages {
			all += s.Name + " "
		}
		return all
	}
	x, said := begun(time.Hour)
	for range 2 {
		if err := x.addStage(t.Context(), 0); err != nil || names(x) != "all alone steps " || len(x.reports) != 3 {
			t.Fatalf("%s, %v", names(x), err)
		}
	}
	x.reports[1] = fails(x.proposal.Stages[1].Experiment, "fsync = maybe")
	if !x.over(1) || x.ofAll(1) {
		t.Error("one short trial of each is not all that there is to do")
	}
	for range 2 {
		if err := x.addStage(t.Context(), 1); err != nil || names(x) != "all alone all-but steps " || !x.ofAll(2) {
			t.Fatalf("%s, %v", names(x), err)
		}
	}
	if err := x.addStage(t.Context(), 2); err != nil || len(x.proposal.Stages) != 4 || said.String() != "refused by the server: fsync = maybe\n" {
		t.Errorf("%s, %v: %s", names(x), err, said)
	}
	x, said = begun(30 * time.Second)
	if err := x.addStage(t.Context(), 0); err != nil || names(x) != "all steps " || !strings.Contains(said.String(), "which step is refused: not begun, because ") {
		t.Errorf("%s, %v: %s", names(x), err, said)
	}
	x, _ = begun(time.Hour)
	x.reports[0] = fails(x.proposal.Stages[0].Experiment)
	if err := x.addStage(t.Context(), 0); err != nil || names(x) != "all steps " {
		t.Errorf("where all advice runs: %s, %v", names(x), err)
	}
}

func TestLookTime(t *testing.T) {
	for budget, want := range map[time.Duration]time.Duration{time.Minute: 15 * time.Second, 10 * time.Minute: 40 * time.Second, 5 * time.Hour: time.Minute} {
		if got := lookTime(budget); got != want {
			t.Errorf("%s: %s, want %s", budget, got, want)
		}
	}
}

// A rule about lost data is one of safety, and one about speed promises more
// than a note.
func TestStake(t *testing.T) {
	k, err := check.Load(check.Choice{}, nil, func(string, error) {})
	if err != nil {
		t.Fatal(err)
	}
	first := func(h rule.Harm, g rule.Gain) rehearse.Importance {
		for _, r := range k.Rules.Rules() {
			if r.Harm == h && r.Gain == g {
				return (&Runner{Ports: Ports{Know: k}}).importance(r.ID)
			}
		}
		t.Fatalf("no rule has harm %s and gain %s", h, g)
		return rehearse.Importance{}
	}
	if s := first(rule.Danger, rule.High); !s.Safety {
		t.Errorf("danger: %+v", s)
	}
	slow, low, note := first(rule.Slow, rule.High), first(rule.Slow, rule.Low), first(rule.Note, rule.Medium)
	if slow.Safety || slow.Gain <= low.Gain || low.Gain <= note.Gain || note.Gain <= 0 || (&Runner{Ports: Ports{Know: k}}).importance("none") != (rehearse.Importance{}) {
		t.Errorf("slow, high %+v; slow, low %+v; note %+v", slow, low, note)
	}
}

func TestServerBelow(t *testing.T) {
	s := &stack.Stack{Roles: []stack.Role{
		{DB: stack.Ref{Kind: "mysql", Name: "3306"}, Name: "data", Path: "/var/lib/mysql"},
		{DB: stack.Ref{Kind: "mysql", Name: "lab"}, Name: "data", Path: "/var/tmp/plumb-lab-1/v1/data"},
	}, Gaps: []stack.Gap{{Why: "no login"}}}
	if got, err := serverBelow(s, "/var/tmp/plumb-lab-1"); err != nil || got.Name != "lab" {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := serverBelow(s, "/var/tmp/plumb-lab"); err == nil || !strings.Contains(err.Error(), "no login") {
		t.Errorf("got %v", err)
	}
}

func TestToResume(t *testing.T) {
	all := []kept{{Name: "a"}, {Name: "b"}, {Name: "c", Ended: timeOver}}
	for _, c := range []struct{ name, want, hint string }{
		{"", "b", ""}, {"a", "a", ""}, {"c", "c", ""}, {"d", "", "there is b or a"},
	} {
		k, err := toResume(all, c.name)
		if k.Name != c.want || hint.Of(err) != c.hint {
			t.Errorf("%q: got %q, %v, hint %q", c.name, k.Name, err, hint.Of(err))
		}
	}
	_, err := toResume(all[2:], "")
	if !strings.Contains(hint.Of(err), "--resume c --max-time") {
		t.Errorf("hint %q", hint.Of(err))
	}
}

// What is kept of a rehearsal reads back with its experiments.
func TestKeptReadsBack(t *testing.T) {
	k := kept{Plumb: keptVersion, Kind: keptKind, Name: "a", Began: time.Now().UTC(), Budget: time.Minute,
		Proposal: rehearse.Proposal{Server: stack.Ref{Kind: "mysql", Name: "3306"}, Engine: "mariadb", Scale: 0.5, Stages: []rehearse.Stage{{Name: "all", Text: []byte(tiny)}}}}
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	back, err := readKept(text)
	if err != nil || back.Proposal.Server != k.Proposal.Server || len(back.Proposal.Stages[0].Experiment.Arms) != 2 || !back.Began.Equal(k.Began) {
		t.Errorf("got %+v, %v", back, err)
	}
}

func FuzzReadKept(f *testing.F) {
	f.Add([]byte(`{"plumb": 1, "kind": "rehearsal", "name": "a", "proposal": {"Server": "mysql:3306", "Stages": [{"Name": "all", "Text": "ZXhwZXJpbWVudDogYQo="}]}}`))
	f.Add([]byte(`{"plumb": 1, "kind": "rehearsal", "name": "../a"}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if k, err := readKept(text); err == nil && (len(k.Proposal.Stages) == 0 || strings.Contains(k.Name, "/")) {
			t.Errorf("%+v", k)
		}
	})
}

func TestDataFor(t *testing.T) {
	for free, want := range map[int64]experiment.Bytes{0: 0, 100 << 20: 0, 3 << 30: 874 << 20} {
		if got := dataFor(free); got != want {
			t.Errorf("%d: %s, want %s", free, got, want)
		}
	}
}

// A dataset lies in a pool, and not on the disk with the lab's directory.
func TestDiskOf(t *testing.T) {
	for volume, want := range map[string]int64{
		"{kind: directory}":                        3 * (1000*300 + 150<<20),
		"{kind: loop, size: 4G, filesystem: ext4}": 4 << 30,
		"{kind: dataset, parent: tank/db}":         0,
	} {
		if got := diskOf(stageOf(t, strings.Replace(tiny, "{kind: directory}", volume, 1)).Experiment); got != want {
			t.Errorf("%s: %d, want %d", volume, got, want)
		}
	}
}

// TestKeptRehearsalsHoldNoPassword looks at the file that an interrupted
// rehearsal leaves.
func TestKeptRehearsalsHoldNoPassword(t *testing.T) {
	dir := t.TempDir()
	doer := hosttest.LiveDoer(t)
	x := &Runner{Ports: Ports{Books: dir, Live: doer}}
	for _, where := range []string{"postgres://u:s3cr3tpw@db1/lab?sslmode=require", "postgres://u@db1/lab?password=s3cr3tpw&sslpassword=s3cr3tpw"} {
		x.Ledger = where
		if err := x.keep(t.Context()); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(x.keptFile(x.kept.Name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "s3cr3tpw") || !strings.Contains(string(text), "postgres://u@db1/lab") {
			t.Errorf("%s is kept as %s", where, text)
		}
	}
}
