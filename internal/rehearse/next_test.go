package rehearse

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/advise"
	"plumb/internal/stack"
)

func TestNextIsOneTrialWithAllAdvice(t *testing.T) {
	p := rehearsedSmall(t, Want{})
	s, err := p.Next(40 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	x := s.Experiment
	if len(x.Arms) != 1 || x.Most != 1 || x.Measure != 40*time.Second || len(x.Pairs) != 0 || s.Name != StageNext {
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
	if !redo.To.Equal(stack.Int(1<<30)) || !redo.From.Equal(stack.Int(96<<20)) || redo.Note != AfterTheRest || strings.Join(redo.Why, " ") != "mysql/innodb-log-file-size mysql/redo-too-small" {
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
}
