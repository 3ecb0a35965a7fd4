package fix

import (
	"testing"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/stack"
)

// Of three changes only the two that a plan made are taken back by it, the
// newest first; one that did more than the plan is not of it.
func TestChoiceByPlan(t *testing.T) {
	step := func(knob string, from, to int64) change.Step {
		return change.Step{Knob: stack.Knob{Of: stack.Ref{Kind: "mysql", Name: "3306"}, Name: knob}, From: stack.Int(from), To: stack.Int(to), Because: "it is out of line"}
	}
	var p advise.Plan
	for _, s := range []change.Step{step("sync_binlog", 0, 1), step("innodb_io_capacity", 200, 400)} {
		p.Steps = append(p.Steps, advise.Step{Knob: s.Knob, From: s.From, To: s.To, Because: s.Because})
	}
	made := func(number int, steps ...change.Step) *change.Change {
		c := &change.Change{Number: number, Acts: []change.Recorded{{State: change.Done}}}
		c.Steps = steps
		return c
	}
	all := []*change.Change{
		made(1, step("sync_binlog", 0, 1)),
		made(2, step("sync_binlog", 0, 7)),
		made(3, step("innodb_io_capacity", 200, 400)),
		made(4, step("innodb_io_capacity", 200, 400), step("max_connections", 1, 2)),
	}
	got, err := Choice{Plan: &p}.Of(all)
	if err != nil || len(got) != 2 || got[0].Number != 3 || got[1].Number != 1 {
		t.Errorf("got %v, %v", got, err)
	}
	if got, _ := (Choice{Plan: &advise.Plan{}}).Of(all); len(got) != 0 {
		t.Errorf("an empty plan takes back %d changes", len(got))
	}
	if got, _ := (Choice{}).Of(all); len(got) != 1 || got[0].Number != 4 {
		t.Errorf("without a plan: %v", got)
	}
}
