package fix

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
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

// What only waits says for whom, and by which command it can be ended; of a server that answers it does not say that it does not.
func TestVerdict(t *testing.T) {
	down := &change.Waiting{For: "mysql:3306", Err: fmt.Errorf("query mysql:3306: %w", host.ErrDown)}
	told := &change.Waiting{For: "mongo:27017", Err: errors.New("no option found to get")}
	for _, c := range []struct {
		errs       []error
		text, help string
		partly     bool
	}{
		{[]error{down}, "1 act waits for mysql:3306, which does not answer", "start mysql:3306", false},
		{[]error{nil, down, down}, "2 acts wait for mysql:3306, which does not answer", "start mysql:3306", true},
		{[]error{told}, "1 act waits for mongo:27017, which cannot revert it in its present state", "plumb undo tries it again once mongo:27017 takes it", false},
	} {
		b := &Back{}
		for _, err := range c.errs {
			b.Trail, b.err = append(b.Trail, Undone{Change: 7, Err: err}), errors.Join(b.err, err)
		}
		err := b.Verdict()
		_, partly := errors.AsType[*Partly](err)
		if err == nil || err.Error() != c.text || partly != c.partly || !strings.HasPrefix(hint.Of(err), c.help) || !strings.Contains(hint.Of(err), "plumb undo 7 --forget") {
			t.Errorf("%v, hint %q", err, hint.Of(err))
		}
	}
}
