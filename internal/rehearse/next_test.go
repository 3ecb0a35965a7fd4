package rehearse

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/advise"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/stack"
)

func TestNextIsOneTrialWithAllAdvice(t *testing.T) {
	p := rehearsedSmall(t, Want{})
	s, err := p.Next(40 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	x := s.Experiment
	if len(x.Arms) != 1 || x.Most != 1 || x.Measure != 40*time.Second || len(x.Pairs) != 0 || s.Name != stageNext {
		t.Errorf("%s", s.Text)
	}
	if diff := cmp.Diff(armOf(t, p.Stages[0], AllAdvice), armOf(t, s, AllAdvice)); diff != "" {
		t.Error(diff)
	}
}

// What a check of the sandbox asks for is tried with the rest, as a step of the
// server that it is like.
func TestFollow(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	db.Setting("innodb_io_capacity", stack.Int(200), "test", stack.Origin{From: stack.FromDefault})
	plan := planned(placed, "innodb_log_file_size", 256<<20, "sync_binlog", 1, "innodb_data_home_dir", "/elsewhere")
	plan.Steps[0].From = stack.Int(96 << 20)
	p, err := Propose(s, known(), plan, ofSyncBinlog, Want{Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	found := planned(placed, "innodb_log_file_size", 1<<30, "innodb_data_home_dir", "/here", "innodb_io_capacity", 2000, "log_error", "/x").Steps
	found[0].Why = []string{"mysql/redo-too-small"}
	more, added := p.Follow(found, db, ofSyncBinlog)
	var names []string
	for _, s := range added {
		names = append(names, s.Knob.Name)
	}
	if want := []string{"innodb_log_file_size", "innodb_io_capacity", "log_error"}; !slices.Equal(names, want) {
		t.Errorf("added %q, want %q", names, want)
	}
	redo := more.Steps[0]
	if !redo.To.Equal(stack.Int(1<<30)) || !redo.From.Equal(stack.Int(96<<20)) || redo.Note != "" || strings.Join(redo.Why, " ") != "mysql/innodb-log-file-size mysql/redo-too-small" {
		t.Errorf("%+v", redo)
	}
	if io := more.Steps[3]; !io.From.Equal(stack.Int(200)) || io.Note != AfterTheRest {
		t.Errorf("%+v", io)
	}
	if !p.Plan.Steps[0].To.Equal(stack.Int(256 << 20)) {
		t.Error("the plan before it was changed")
	}
	q, err := Propose(s, known(), more, ofSyncBinlog, Want{Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	if tried := q.Tried(added); len(tried) != 2 {
		t.Errorf("tried: %+v", tried)
	}
	if got := armOf(t, q.Stages[0], AllAdvice).Server.Settings; got["innodb_log_file_size"] != "1G" || got["innodb_io_capacity"] != "2000" {
		t.Errorf("all advice sets %v", got)
	}
}

// A smaller sandbox says nothing of how large a cache has to be, and nothing of
// what is about safety.
func TestFollowLeavesCachesAndSafety(t *testing.T) {
	s, db := mariadb()
	p := proposed(t, s, planned(placed, "innodb_io_capacity", 2000), Want{Budget: time.Hour})
	if p.Scale >= 1 {
		t.Fatalf("scale %g", p.Scale)
	}
	found := planned(placed, "innodb_buffer_pool_size", 3*gigabyte, "sync_binlog", 1, "innodb_log_file_size", 1<<30).Steps
	if _, added := p.Follow(found, db, ofSyncBinlog); len(added) != 1 || added[0].Knob.Name != "innodb_log_file_size" {
		t.Errorf("%+v", added)
	}
	if _, added := p.Follow([]advise.Step{p.Plan.Steps[0]}, db, nil); len(added) != 0 {
		t.Errorf("what is in the plan already: %+v", added)
	}
	if _, added := p.Follow(planned(placed, "innodb_buffer_pool_size", 128<<20, "innodb_page_size", 16<<10).Steps, db, nil); len(added) != 0 {
		t.Errorf("what the server has: %+v", added)
	}
}

// What was loaded for a look is not loaded again, however little time is left.
func TestFollowKeepsTheData(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(700<<20), "test")
	p := proposed(t, s, planned(placed, "innodb_io_capacity", 2000), Want{Budget: 15 * time.Minute})
	more, _ := p.Follow(planned(placed, "innodb_log_file_size", 1<<30).Steps, db, nil)
	q := proposed(t, s, more, Want{Budget: 7 * time.Minute, Data: experiment.Bytes(p.Data), Loaded: true})
	if a, b := experiment.LayoutKey(armOf(t, p.Stages[0], AsIs)), experiment.LayoutKey(armOf(t, q.Stages[0], AsIs)); a != b || p.Scale != q.Scale {
		t.Errorf("%s at %g, then %s at %g", a, p.Scale, b, q.Scale)
	}
	if less := proposed(t, s, more, Want{Budget: 7 * time.Minute}); experiment.LayoutKey(armOf(t, less.Stages[0], AsIs)) == experiment.LayoutKey(armOf(t, p.Stages[0], AsIs)) {
		t.Error("the budget is enough for the same data anyway: this shows nothing")
	}
}

// A plan may have nothing left but what showed late.
func TestLateStepWithoutTheRest(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	plan := planned(placed, "innodb_flush_neighbors", 0)
	plan.Steps[0].Note = AfterTheRest
	p := proposed(t, s, plan, Want{Budget: time.Hour})
	if arms := p.Stages[0].Experiment.Arms; len(p.Stages) != 1 || len(arms) != 2 || p.Steps[0].Arm != AllAdvice {
		t.Errorf("%d stages, %d arms, tried in %q", len(p.Stages), len(arms), p.Steps[0].Arm)
	}
}

// What shows only where the rest is followed is tried on top of it: all advice
// is compared with all but that.
func TestLateStepsAreTriedOnTop(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(100<<20), "test")
	plan := planned(placed, "innodb_io_capacity", 2000, "innodb_log_file_size", 1<<30)
	p, err := Propose(s, known(), plan, nil, Want{Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	more, _ := p.Follow(planned(placed, "innodb_flush_neighbors", 0, "innodb_log_buffer_size", 64<<20).Steps, db, nil)
	for _, without := range []bool{false, true} {
		q, err := Propose(s, known(), more, nil, Want{Budget: time.Hour, WithoutOne: without})
		if err != nil {
			t.Fatal(err)
		}
		const late = "without innodb_flush_neighbors = 0, innodb_log_buffer_size = 64M"
		w := world{noise: 0.01, rate: map[string]float64{AllAdvice: 2, late: 1.5, "innodb_log_file_size = 1G": 1.4, "innodb_io_capacity = 2000": 1,
			"without innodb_log_file_size = 1G": 1, "without innodb_io_capacity = 2000": 2}}
		r := Judge(q, []report.Report{w.carryOut(t, q.Stages[0].Experiment, 6), w.carryOut(t, q.Stages[1].Experiment, 6)}, "")
		if v := r.Steps[2]; v.Word != Helps || v.Rate.Value < 0.3 || v.Rate.Value > 0.37 || !v.Keep || !slices.Equal(v.Step.With, []int{4}) {
			t.Errorf("without one: %v: %+v", without, v)
		}
		if r.All.Word != Helps || r.Steps[0].Word != NoDifference || r.Steps[1].Word != Helps {
			t.Errorf("without one: %v: %s, %s, %s", without, r.All.Word, r.Steps[0].Word, r.Steps[1].Word)
		}
		settings := armOf(t, q.Stages[map[bool]int{false: 0, true: 1}[without]], late).Server.Settings
		if settings["innodb_log_file_size"] != "1G" || settings["innodb_log_buffer_size"] != "" {
			t.Errorf("without one: %v: %v", without, settings)
		}
	}
}
