package rehearse

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/stack"
)

// What promises most is tried alone first, and last what is kept anyway; the
// steps themselves stay in the order of the plan.
func TestOrderOfSingleSteps(t *testing.T) {
	s, db := mariadb()
	db.Set("innodb_data_size", stack.Int(2*gigabyte), "test")
	plan := planned(placed, "sync_binlog", 1, "innodb_io_capacity", 2000, "innodb_flush_neighbors", 0, "innodb_log_buffer_size", 64<<20)
	plan.Steps[2].Why = append(plan.Steps[2].Why, "mysql/other")
	stake := func(rule string) Importance {
		return map[string]Importance{"mysql/sync-binlog": {true, 6}, "mysql/innodb-io-capacity": {false, 2}, "mysql/other": {false, 5}, "mysql/innodb-log-buffer-size": {false, 3}}[rule]
	}
	p, err := Propose(s, known(), plan, stake, Want{Budget: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	var arms []string
	for _, a := range p.Stages[1].Experiment.Arms {
		arms = append(arms, a.Name)
	}
	if diff := cmp.Diff([]string{AsIs, "innodb_flush_neighbors = 0", "innodb_log_buffer_size = 64M", "innodb_io_capacity = 2000", "sync_binlog = 1"}, arms); diff != "" {
		t.Error(diff)
	}
	if p.Steps[0].Knob.Name != "sync_binlog" || p.Steps[0].Number != 1 || !p.Steps[0].Safety {
		t.Errorf("%+v", p.Steps)
	}
	if p, err = Propose(s, known(), plan, stake, Want{Budget: 10 * time.Minute}); err != nil || p.Steps[0].Arm != "" || p.Steps[2].Arm == "" {
		t.Errorf("with little time: %+v, %v", p.Steps, err)
	}
}
