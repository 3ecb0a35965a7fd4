package runner

import (
	"cmp"
	"context"
	"slices"
	"time"

	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
)

// Outcome is what came of a rehearsal so far.
type Outcome struct {
	rehearse.Result
	Resume      string // the rehearsal that a larger budget goes on with; "" for none
	Interrupted bool
}

// Undecided tells whether a verdict is.
func (o *Outcome) Undecided() bool {
	return o.All.Word == rehearse.Undecided || slices.ContainsFunc(o.Steps, func(v rehearse.Verdict) bool { return v.Word == rehearse.Undecided })
}

// Machine is that of the last trial, in words; nil without one.
func (o *Outcome) Machine() (machine []string) {
	for _, stage := range o.Reports {
		if n := len(stage.Records); n > 0 {
			machine = stage.Records[n-1].Machine
		}
	}
	return machine
}

// Nothing tells whether there is nothing to try, so that there is nothing to
// run.
func (x *Runner) Nothing() bool { return x.ended == nothingToTry }

// Outcome judges what was measured.
func (x *Runner) Outcome() *Outcome {
	r := rehearse.Judge(x.proposal, x.reports, x.ended)
	r.Took, r.Search = x.spent+time.Since(x.began), x.found
	r.Adopt(x.Know.Catalog, x.inForce)
	o := &Outcome{Result: r, Interrupted: x.ended == interrupted}
	if x.ended == timeOver {
		o.Resume = x.kept.Name
	}
	return o
}

// inForce gives what a setting has in force by what was read of this host; a
// rehearsal that is gone on with has read nothing.
func (x *Runner) inForce(k stack.Knob) (v stack.Value, known bool) {
	if x.stack == nil {
		return v, false
	}
	t := x.stack.Find(k.Of)
	if t == nil {
		return v, false
	}
	return t.Get(k.Name)
}

// Forecast is what a rehearsal would do.
type Forecast struct {
	Proposal    rehearse.Proposal
	Look        *experiment.Experiment // at a server that is yet to be made: until then only this is known
	Least, Most time.Duration          // how long it takes, by when it can stop; 0 when unknown
	Budget      time.Duration          // for everything; 0 when there is none
	Needs       []string               // of this machine, one sentence each
	Again       bool                   // check is asked again first, with all advice followed
}

// Prepare makes the lab, which makes nothing yet, and tells what would be
// tried. What this machine has not is an error.
func (x *Runner) Prepare(ctx context.Context) (f Forecast, err error) {
	x.Dir = cmp.Or(x.Dir, "/var/tmp")
	x.lab, err = lab.New(ctx, x.Live, x.Dir,
		lab.Lab{Medium: x.Volumes, Engines: x.Engines, Plumb: x.Know.Plumb, Fetch: x.Fetch, Host: x.AllowHost, Keep: true, Watch: x.Watch.Progress})
	if err != nil {
		return f, err
	}
	f.Proposal, f.Budget = x.proposal, x.Budget
	if f.Needs, err = x.needs(ctx); err != nil {
		return f, err
	}
	if len(x.proposal.Stages) == 0 {
		f.Look = &x.looks.Experiment
		return f, nil
	}
	_, f.Again = x.nextLook()
	for i, s := range x.proposal.Stages {
		times := experiment.Estimate(s.Experiment)
		if i > 0 { // the data are there already
			times.Least -= times.Loading
			times.Most -= times.Loading
		}
		f.Least, f.Most = f.Least+times.Least, f.Most+times.Most
	}
	f.Most = max(f.Least, min(f.Most, x.Budget))
	return f, nil
}
