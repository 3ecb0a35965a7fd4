package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"plumb/internal/advise"
	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/lab"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Runner is one rehearsal that is being carried out.
type Runner struct {
	Options
	Ports
	stack    *stack.Stack   // as the server was read
	wanted   rehearse.Want  // of the proposal
	looks    rehearse.Stage // at a server that is made, before there is a proposal
	proposal rehearse.Proposal
	kept     kept // in a file, so that it can be resumed
	resumed  bool // gone on with
	lab      *lab.Lab
	store    *ledger.Ledger
	laid     map[string]bool // layouts whose data the lab has made
	began    time.Time
	spent    time.Duration    // by runs that were cut off
	reports  []report.Report  // of the stages that were begun
	found    *rehearse.Search // by a search; nil without one
	ended    string           // why; "" while it goes on
}

// Why a rehearsal ends.
const (
	allDecided   = "all is decided"
	allDone      = "all blocks are done"
	timeOver     = "--max-time is over"
	interrupted  = "interrupted"
	brokenOff    = "it could not go on"
	nothingToTry = "there is nothing to try"
)

// New reads this host, only reads it, and proposes a rehearsal.
func New(ctx context.Context, o Options, p Ports) (*Runner, error) {
	x := &Runner{Options: o, Ports: p, began: time.Now(), laid: map[string]bool{}}
	var err error
	if x.stack, err = x.Read(ctx); err != nil {
		return nil, err
	}
	if x.Dir, err = absolute(x.Dir); err != nil {
		return nil, err
	}
	if x.Sandbox != "" {
		x.looks, err = rehearse.Observe(x.looking())
	} else {
		err = x.proposeLive(ctx)
	}
	return x, err
}

// proposeLive makes the proposal for a server of this host.
func (x *Runner) proposeLive(ctx context.Context) error {
	plan, err := x.Advice(x.stack)
	if err != nil {
		return err
	}
	w := x.want()
	if w.Server, err = x.chosenServer(); err != nil {
		return err
	}
	w.Dir, w.Room = x.Dir, x.roomIn(ctx, x.Dir)
	x.wanted = w
	if err := x.propose(ctx, plan); err != nil {
		return err
	}
	if len(x.proposal.Stages) == 0 {
		x.ended = nothingToTry
	}
	x.wanted.Server = x.proposal.Server
	x.Dir = cmp.Or(x.Dir, x.proposal.Dir)
	return nil
}

// propose makes the experiments for a plan.
func (x *Runner) propose(ctx context.Context, plan advise.Plan) (err error) {
	if x.proposal, err = rehearse.Propose(x.stack, x.Know.Catalog, plan, x.importance, x.wanted); err != nil {
		return fmt.Errorf("rehearse: %w", err)
	}
	if x.Sandbox != "" {
		x.proposal.Server = stack.Ref{} // it is no server that anybody could fix
	}
	x.farFromData(ctx)
	return x.stamp()
}

// chosenServer reads the name of the server, and sees that it is there.
func (x *Runner) chosenServer() (stack.Ref, error) {
	if x.Server == "" {
		return stack.Ref{}, nil
	}
	ref, err := stack.ParseRef(x.Server)
	if err == nil && x.stack.Find(ref) == nil {
		return ref, check.NotHere("--server", x.Server, x.stack)
	}
	return ref, err
}

func (x *Runner) want() rehearse.Want {
	return rehearse.Want{Workload: x.Workload, Threads: x.Threads, Volume: x.Volume, Memory: x.Memory, Data: x.Data,
		Budget: x.Budget, WithoutOne: x.WithoutOne, Host: x.AllowHost}
}

// importance tells what a rule is about: data and service, or speed. What slows a
// server promises more than what is worth a note, whatever either says of its
// gain among its like.
func (x *Runner) importance(id string) (s rehearse.Importance) {
	r := x.Know.Rules.Rule(id)
	if r == nil {
		return s
	}
	s.Safety = r.Harm == rule.Danger || r.Harm == rule.Outage
	gains := []rule.Gain{rule.Low, rule.Medium, rule.High}
	s.Gain = 1 + slices.Index(gains, r.Gain)
	if r.Harm == rule.Slow {
		s.Gain += 1 + len(gains)
	}
	return s
}

func absolute(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	return filepath.Abs(name)
}

// left is what the budget still gives.
func (x *Runner) left() time.Duration { return x.Budget - x.spent - time.Since(x.began) }

// Run carries the rehearsal out. What it gives is known also when it was cut
// off; nil when it did not come to a proposal. Close it when that has been shown.
func (x *Runner) Run(ctx context.Context) (*Outcome, error) {
	err := x.carryOut(ctx)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		x.ended = interrupted
		err = fmt.Errorf("the rehearsal was interrupted (%w)", err)
		if x.kept.Name != "" {
			err = hint.With(err, "plumb rehearse --resume continues it")
		}
	default:
		x.ended = cmp.Or(x.ended, brokenOff)
	}
	if x.proposal.Engine == "" {
		return nil, err
	}
	return x.Outcome(), err
}

// carryOut opens what is needed, runs all stages, and takes all away again.
func (x *Runner) carryOut(ctx context.Context) (err error) {
	if x.store, err = ledger.Open(ctx, x.Ledger); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.store.Close()) }()
	x.lab.Ledger = x.store
	if err := x.begin(ctx); err != nil {
		return err
	}
	end, err := x.lab.Begin(ctx, x.Books)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	if len(x.proposal.Stages) == 0 {
		if err := x.observe(ctx); err != nil {
			return err
		}
		if len(x.proposal.Stages) == 0 {
			x.ended = nothingToTry
			return nil
		}
	}
	if err := x.lookAgain(ctx); err != nil {
		return err
	}
	return x.allStages(ctx)
}
