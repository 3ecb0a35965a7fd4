package rehearse

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/lab/report"
	"plumb/internal/stack"
)

// rehearsedSmall proposes a plan for a server with little data.
func rehearsedSmall(t *testing.T, w Want) Proposal {
	t.Helper()
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	plan := fourSteps()
	plan.Steps = append(plan.Steps, planned(placed, "innodb_page_size", 4096).Steps...)
	w.Budget = time.Hour
	p, err := Propose(s, known(), plan, ofSyncBinlog, w)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// added makes the stages that follow where all advice is refused.
func added(t *testing.T, w world, p Proposal) (Proposal, []report.Report) {
	t.Helper()
	reports := []report.Report{w.carryOut(t, p.Stages[0].Experiment, 1)}
	alone, ok, err := p.Alone(reports[0])
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	reports = append(reports, w.carryOut(t, alone.Experiment, 1))
	but, ok, err := p.AllBut(reports[1])
	if err != nil || !ok {
		t.Fatalf("%t, %v", ok, err)
	}
	p.Stages = []Stage{p.Stages[0], alone, but, p.Stages[1]}
	return p, append(reports, w.carryOut(t, but.Experiment, 6))
}

const butSync = "all advice but sync_binlog = 1"

// Where the server refuses all advice, the step that it refuses is found, and the
// rest is tried without it.
func TestAllAdviceButWhatIsRefused(t *testing.T) {
	w := world{noise: 0.01, rate: map[string]float64{butSync: 4}, fails: map[string]string{AllAdvice: "it did not come up", "sync_binlog = 1": "unknown value", "without innodb_io_capacity = 2000": "no",
		"without innodb_flush_neighbors = 0": "no", "without innodb_log_buffer_size = 64M": "no", "without innodb_page_size = 4K": "no"}}
	for _, without := range []bool{false, true} {
		p, reports := added(t, w, rehearsedSmall(t, Want{WithoutOne: without}))
		alone, but := p.Stages[1].Experiment, p.Stages[2].Experiment
		if len(alone.Arms) != 5 || alone.Most != 1 || alone.Measure != aloneMeasure {
			t.Errorf("%s", alone.Text)
		}
		settings := armOf(t, p.Stages[2], butSync).Server.Settings
		if _, set := settings["sync_binlog"]; set || settings["innodb_io_capacity"] != "2000" || but.Budget != p.Stages[0].Experiment.Budget || !but.Decided || but.Most != p.Stages[0].Experiment.Most {
			t.Errorf("%s", but.Text)
		}
		if arms := Tried(but, "mysql/innodb-io-capacity"); !slices.Equal(arms, []string{butSync}) || Tried(but, "mysql/sync-binlog") != nil {
			t.Errorf("arms of a rule: %q", arms)
		}
		r := Judge(p, reports, "")
		if r.All.Arm != butSync || r.All.Word != Helps || r.All.Refused != "it did not come up" {
			t.Errorf("%+v", r.All)
		}
		if words, kept := wordsOf(t, r); words != "wxwww" || kept != "1345" || r.Steps[1].Failed != "unknown value" {
			t.Errorf("%s, kept %s: %+v", words, kept, r.Steps[1])
		}
		words, kept := wordsOf(t, Judge(p, append(reports, w.carryOut(t, p.Stages[3].Experiment, 6)), ""))
		if want := map[bool]string{false: "nxnnn", true: "wxwww"}[without]; words != want || strings.Contains(kept, "2") {
			t.Errorf("%s, kept %s; want %s", words, kept, want)
		}
	}
}

// A search goes on from what the server runs with.
func TestSearchWithoutWhatIsRefused(t *testing.T) {
	w := world{noise: 0.01, fails: map[string]string{AllAdvice: "no", "sync_binlog = 1": "no"}}
	p, reports := added(t, w, rehearsedSmall(t, Want{}))
	s, err := p.NewSearch(reports, known(), 40)
	if err != nil || s.on != butSync || s.from.Name != StageBut || !strings.Contains(s.Says[0], "on top of all advice") {
		t.Errorf("%v: %+v", err, s)
	}
	stage, err := s.Next(2)
	if err != nil || stage.Experiment.Arms[1].Setup.Server.Settings["innodb_log_buffer_size"] != "64M" || !strings.HasSuffix(stage.Experiment.Name, "-all-but-search-1") {
		t.Errorf("%v\n%s", err, stage.Text)
	}
}

func TestNothingIsRefusedAlone(t *testing.T) {
	p := rehearsedSmall(t, Want{})
	for name, fails := range map[string]map[string]string{"all runs": {}, "nothing runs": {AllAdvice: "no", AsIs: "no"}} {
		if _, ok, err := p.Alone(world{fails: fails}.carryOut(t, p.Stages[0].Experiment, 2)); ok || err != nil {
			t.Errorf("%s: %t, %v", name, ok, err)
		}
	}
	w := world{fails: map[string]string{AllAdvice: "no"}}
	alone, ok, err := p.Alone(w.carryOut(t, p.Stages[0].Experiment, 1))
	if !ok || err != nil {
		t.Fatal(err)
	}
	r := w.carryOut(t, alone.Experiment, 1)
	if _, ok, err := p.AllBut(r); ok || err != nil || len(p.Refused(r)) != 0 {
		t.Errorf("together they are refused: %t, %v, %q", ok, err, p.Refused(r))
	}
	p.Stages = []Stage{p.Stages[0], alone}
	if out := Judge(p, []report.Report{w.carryOut(t, p.Stages[0].Experiment, 1), r}, ""); out.All.Failed != "no" || out.All.Refused != "" || len(out.Plan.Steps) != 1 {
		t.Errorf("%+v", out)
	}
	w.fails = map[string]string{AllAdvice: "no"}
	for _, a := range alone.Experiment.Arms[1:] {
		w.fails[a.Name] = "no"
	}
	if b, ok, err := p.AllBut(w.carryOut(t, alone.Experiment, 1)); err != nil || !ok || len(b.Experiment.Arms) != 2 || b.Experiment.Arms[1].Setup.Server.Create["innodb_page_size"] != "4K" {
		t.Errorf("what needs data of its own is not known to be refused: %t, %v", ok, err)
	}
	if _, ok, err := (Proposal{}).Alone(report.Report{Arms: []report.ArmResult{{Name: AllAdvice, Failed: "no"}, {Name: AsIs}}}); ok || err != nil {
		t.Errorf("of nothing: %t, %v", ok, err)
	}
}
