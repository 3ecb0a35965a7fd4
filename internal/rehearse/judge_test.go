package rehearse

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/load"
	"plumb/internal/stack"
)

// What is judged here was not measured: trials come out of a generator.

// world is what the arms of the simulated lab are like.
type world struct {
	rate, p99 map[string]float64 // against the server as it is; 1 when not there
	written   map[string]float64 // bytes for an operation: the same
	fails     map[string]string  // why the server does not start
	loses     map[string]string  // what is found to be lost after each trial
	noise     float64
}

func (w world) carryOut(t *testing.T, x experiment.Experiment, blocks int) report.Report {
	t.Helper()
	r := rand.New(rand.NewPCG(x.Seed, 1))
	at := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	var all []experiment.Record
	for block := range blocks {
		level := 1000 * math.Exp(0.1*r.NormFloat64())
		for _, trial := range experiment.Order(x, block+1) {
			rec := experiment.Record{Trial: trial, Attempt: 1, Began: at, Ended: at.Add(30 * time.Second)}
			at = rec.Ended
			factor := func(of map[string]float64) float64 {
				if f, ok := of[trial.Arm]; ok {
					return f
				}
				return 1
			}
			rec.Metric = level * factor(w.rate) * math.Exp(w.noise*r.NormFloat64())
			rec.Ops = []experiment.Op{{Name: "transaction", Done: 1000, Histogram: packed(t, 10*factor(w.p99)*math.Exp(w.noise*r.NormFloat64()))}}
			rec.Costs = []experiment.Cost{{Layer: "server", Name: "fsyncs", Unit: "1/op", Value: factor(w.rate)},
				{Layer: "server", Name: "written", Unit: "B/op", Value: 230000 * factor(w.written) * math.Exp(w.noise*r.NormFloat64())}}
			if why, ok := w.fails[trial.Arm]; ok {
				rec.Mark(experiment.MarkFailed, "%s", why)
			}
			if why, ok := w.loses[trial.Arm]; ok {
				rec.Mark(experiment.MarkInvariant, "%s", why)
			}
			all = append(all, rec)
		}
	}
	return report.Make(x, all)
}

// packed is a histogram whose 99th percentile is about so many milliseconds.
func packed(t *testing.T, p99 float64) []byte {
	t.Helper()
	l := load.NewLatency()
	for i := range 1000 {
		l.Record(time.Duration(p99 * float64(time.Millisecond) * float64(i+10) / 1000))
	}
	text, err := l.Packed()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// judged rehearses a plan in a world.
func (w world) judged(t *testing.T, plan advise.Plan, stake func(string) Importance, want Want) Result {
	t.Helper()
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	want.Budget = time.Hour
	p, err := Propose(s, known(), plan, stake, want)
	if err != nil {
		t.Fatal(err)
	}
	var reports []report.Report
	for _, stage := range p.Stages {
		reports = append(reports, w.carryOut(t, stage.Experiment, 6))
	}
	return Judge(p, reports, "all is decided")
}

func fourSteps() advise.Plan {
	plan := planned(placed, "innodb_io_capacity", 2000, "sync_binlog", 1, "innodb_flush_neighbors", 0, "innodb_log_buffer_size", 64<<20)
	plan.Steps[1].DurabilityFrom = catalog.MayLose
	return plan
}

func ofSyncBinlog(rule string) Importance { return Importance{Safety: rule == "mysql/sync-binlog"} }

func TestVerdicts(t *testing.T) {
	w := world{noise: 0.01, rate: map[string]float64{AllAdvice: 1.3, "innodb_io_capacity = 2000": 1.4, "sync_binlog = 1": 0.9, "innodb_flush_neighbors = 0": 1.01},
		p99: map[string]float64{"innodb_log_buffer_size = 64M": 0.5}}
	r := w.judged(t, fourSteps(), ofSyncBinlog, Want{})
	if r.All.Word != Helps || r.All.Step != nil || math.Abs(r.All.Rate.Value-0.3) > 0.03 {
		t.Errorf("all: %+v", r.All)
	}
	for i, c := range []struct {
		word string
		keep bool
		why  string
	}{
		{Helps, true, " % more transactions a second (+"},
		{Harms, true, "kept: it guards against lost transactions, and costs "},
		{NoDifference, false, "left out: no difference larger than ±5 % ("},
		{Helps, true, "kept: the same number of transactions a second within ±5 %, but the slowest answers come "},
	} {
		v := r.Steps[i]
		if v.Word != c.word || v.Keep != c.keep || !strings.Contains(v.Why, c.why) || v.Step != &r.Proposal.Steps[i] || v.Arm != v.Step.Arm {
			t.Errorf("step %d: %s, kept %t: %s\nwant %s, %t: %s", i+1, v.Word, v.Keep, v.Why, c.word, c.keep, c.why)
		}
		t.Log(v.Why)
	}
	if p := r.Steps[3].P99; math.Abs(p.Value+0.5) > 0.05 {
		t.Errorf("p99 %+v", p)
	}
	if c := r.Steps[0].Costs; len(c) != 2 || c[0].After.Value < 1.3*c[0].Before.Value {
		t.Errorf("%+v", c)
	}
	if len(r.Plan.Steps) != 3 || r.Plan.Steps[1].Knob.Name != "sync_binlog" || r.Took == 0 {
		t.Errorf("%+v, %s", r.Plan.Steps, r.Took)
	}
}

func TestWhatTheServerRefusesHarms(t *testing.T) {
	w := world{noise: 0.01, rate: map[string]float64{"innodb_io_capacity = 2000": 1.4},
		fails: map[string]string{AllAdvice: "MariaDB did not start: exit status 1\n2026 [Note] starting\n2026 [ERROR] unknown variable", "sync_binlog = 1": "MariaDB did not start: exit status 1\n2026 [ERROR] unknown variable\n"},
		loses: map[string]string{"innodb_flush_neighbors = 0": "table sbtest1 has 99 rows, and had 100"}}
	r := w.judged(t, fourSteps(), ofSyncBinlog, Want{})
	if r.All.Word != Harms || r.All.Failed != "MariaDB did not start: exit status 1: 2026 [ERROR] unknown variable" {
		t.Errorf("%+v", r.All)
	}
	for i, failed := range []string{"", "MariaDB did not start", "has 99 rows", ""} {
		v := r.Steps[i]
		if (failed == "") != (v.Failed == "") || !strings.Contains(v.Failed, failed) || failed != "" && (v.Keep || v.Word != Harms) {
			t.Errorf("step %d: %+v", i+1, v)
		}
	}
	if !r.Steps[0].Keep || len(r.Plan.Steps) != 1 {
		t.Errorf("%+v", r.Plan.Steps)
	}
}

func TestServerThatCannotRunAsItIs(t *testing.T) {
	w := world{fails: map[string]string{AsIs: "it did not come up"}}
	r := w.judged(t, fourSteps(), nil, Want{})
	for _, v := range append(r.Steps, r.All) {
		if v.Word != Undecided || v.Keep || v.Failed != "" || v.Step != nil && !strings.Contains(v.Why, "as is failed, so nothing can be compared: it did not come up") {
			t.Errorf("%+v", v)
		}
	}
}

func TestVerdictsWithoutOne(t *testing.T) {
	w := world{noise: 0.01, rate: map[string]float64{AllAdvice: 1.4, "without innodb_io_capacity = 2000": 1, "without sync_binlog = 1": 1.6, "without innodb_flush_neighbors = 0": 1.4, "without innodb_log_buffer_size = 64M": 1.4}}
	r := w.judged(t, fourSteps(), nil, Want{WithoutOne: true})
	for i, word := range []string{Helps, Harms, NoDifference, NoDifference} {
		if v := r.Steps[i]; v.Word != word {
			t.Errorf("step %d: %+v", i+1, v)
		}
	}
	if v := r.Steps[0]; math.Abs(v.Rate.Value-0.4) > 0.03 {
		t.Errorf("%+v", v.Rate)
	}
	w.fails = map[string]string{}
	for _, arm := range []string{AllAdvice, "without innodb_io_capacity = 2000", "without innodb_flush_neighbors = 0", "without innodb_log_buffer_size = 64M"} {
		w.fails[arm] = "no"
	}
	if r = w.judged(t, fourSteps(), nil, Want{WithoutOne: true}); r.Steps[1].Failed != "no" || r.Steps[0].Failed != "" || r.Steps[0].Word != Undecided {
		t.Errorf("the step without which alone it runs: %+v", r.Steps)
	}
}

func TestLessDurableIsNeverKept(t *testing.T) {
	plan := planned(placed, "innodb_flush_log_at_trx_commit", 2)
	w := world{noise: 0.01, rate: map[string]float64{AllAdvice: 3}}
	r := w.judged(t, plan, func(string) Importance { return Importance{Safety: true} }, Want{})
	if v := r.Steps[0]; v.Word != Helps || v.Keep || !strings.Contains(v.Why, "less durable (may lose the last transactions)") || len(r.Plan.Steps) != 0 {
		t.Errorf("%+v", v)
	}
}

// What there was no time to try alone is kept where all advice together helps,
// and the plan says that it is proven so alone; where all advice is not better,
// it is left out.
func TestProvenWithAllAdvice(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(2*gigabyte), "test")
	plan := fourSteps()
	plan.Steps[3].DurabilityTo = catalog.MayLose
	for name, c := range map[string]struct {
		all         float64
		blocks      []int // of each stage
		words, kept string
	}{
		"single steps not begun":         {4, []int{6}, "wwww", "123"},
		"one block of single steps":      {4, []int{6, 1}, "wwww", "123"},
		"single steps are tried":         {1.3, []int{6, 6}, "nnhn", "23"},
		"single steps explain little":    {4, []int{6, 6}, "nnhn", "123"},
		"all advice undecided":           {4, []int{1}, "----", "2"},
		"all advice harms":               {0.5, []int{6}, "----", "2"},
		"all advice makes no difference": {1, []int{6}, "----", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Propose(s, known(), plan, ofSyncBinlog, Want{Budget: 40 * time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			w := world{noise: 0.01, rate: map[string]float64{AllAdvice: c.all, "innodb_flush_neighbors = 0": 1.3}}
			var reports []report.Report
			for i, n := range c.blocks {
				reports = append(reports, w.carryOut(t, p.Stages[i].Experiment, n))
			}
			words, kept := wordsOf(t, Judge(p, reports, ""))
			if words != c.words || kept != c.kept {
				t.Errorf("%s, kept %s; want %s, %s", words, kept, c.words, c.kept)
			}
		})
	}
}

// wordsOf writes each step's word as a letter, and the numbers of the steps that
// are kept. It sees that the plan says of them what the page does.
func wordsOf(t *testing.T, r Result) (words, kept string) {
	t.Helper()
	n := 0
	for _, v := range r.Steps {
		words += map[string]string{WithAll: "w", NoDifference: "n", Helps: "h", NotTried: "-", Harms: "x", Undecided: "u"}[v.Word]
		if !v.Keep {
			continue
		}
		kept += fmt.Sprint(v.Step.Number)
		if note := r.Plan.Steps[n].Note; (note == Proven) != v.WithAll() || v.Word == WithAll && !strings.Contains(v.Why, Proven) {
			t.Errorf("step %d: the plan says %q, and the page %q", v.Step.Number, note, v.Why)
		}
		n++
	}
	return words, kept
}

// A budget with no time for some steps says so, and keeps them with the rest.
func TestShortBudgetKeepsAllAdvice(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(2*gigabyte), "test")
	p, err := Propose(s, known(), fourSteps(), nil, Want{Budget: 6 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	words, kept := wordsOf(t, Judge(p, []report.Report{world{rate: map[string]float64{AllAdvice: 4}, noise: 0.01}.carryOut(t, p.Stages[0].Experiment, 5)}, ""))
	if p.Steps[3].Arm != "" || !strings.Contains(p.Steps[3].Left, "no time to try it by itself") || words != "wwww" || kept != "1234" {
		t.Errorf("%s, kept %s: %+v", words, kept, p.Steps[3])
	}
}

func TestNothingKnownYet(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	plan := fourSteps()
	plan.Steps = append(plan.Steps, planned(stack.Ref{Kind: "host", Name: "db1"}, "vm_swappiness", 1).Steps...)
	p, err := Propose(s, known(), plan, func(rule string) Importance {
		return Importance{Safety: rule == "host/vm-swappiness" || ofSyncBinlog(rule).Safety}
	}, Want{Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	for _, reports := range [][]report.Report{nil, {report.Make(p.Stages[0].Experiment, nil)}, {world{}.carryOut(t, p.Stages[0].Experiment, 1)}} {
		r := Judge(p, reports, "interrupted")
		if want := []bool{false, true, false, false, true}; !slices.EqualFunc(r.Steps, want, func(v Verdict, keep bool) bool { return v.Keep == keep && v.Word == NotTried }) {
			t.Errorf("%+v", r.Steps)
		}
		if r.All.Keep || r.All.Word != NotTried && r.All.Word != Undecided || r.Ended != "interrupted" {
			t.Errorf("%+v", r.All)
		}
	}
	r := Judge(p, nil, "")
	if why := r.Steps[1].Why; why != "kept: it guards against lost transactions, though there was no time to try it" {
		t.Error(why)
	}
	if why := r.Steps[4].Why; why != "kept: it is about a server that can stop or lose data, though no trial shows what it costs" {
		t.Error(why)
	}
}

func TestPlainErrors(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one line": "one line",
		"did not start: exit 1\nnote\n2026-11-21 0 [ERROR]  Aborting\n": "did not start: exit 1: 2026-11-21 0 [ERROR] Aborting",
		strings.Repeat("ä", 400): strings.Repeat("ä", 148) + "…",
	} {
		if got := plainly(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
