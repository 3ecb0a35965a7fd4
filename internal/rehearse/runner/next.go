package runner

import (
	"context"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
)

// How often check is asked again with the advice followed, and what part of the
// time that is left it may take: each time less is found.
const (
	mostLooks = 2
	lookPart  = 8
)

// lookAgain asks check in the sandbox what it advises where all advice is
// followed, and takes that into the proposal. A plan that somebody gave stays as
// it is. Where it cannot be done, what was proposed stands.
func (x *Runner) lookAgain(ctx context.Context) error {
	for range mostLooks {
		stage, ok := x.nextLook()
		if !ok {
			return nil
		}
		added, err := x.follow(ctx, stage)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			x.Watch.Tell("check was not asked again in the sandbox: " + err.Error())
		}
		if err != nil || len(added) == 0 {
			return nil
		}
		x.Watch.Tell("check, asked again with all advice followed: " + x.stepsText(added))
		if err := x.keep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// nextLook gives the experiment of another look, where there is reason to ask
// check again, and time for it.
func (x *Runner) nextLook() (s rehearse.Stage, ok bool) {
	if x.resumed || x.Chosen {
		return s, false
	}
	s, err := x.proposal.Next(lookTime(x.Budget / 2)) // its caches are full when it begins
	return s, err == nil && experiment.Estimate(s.Experiment).Block <= x.left()/lookPart
}

// follow looks at the server with all advice, and makes a new proposal where
// check has more to say of it.
func (x *Runner) follow(ctx context.Context, s rehearse.Stage) ([]advise.Step, error) {
	seen, sandbox, err := x.lookAt(ctx, s.Experiment, "with all advice")
	if err != nil {
		return nil, err
	}
	server := x.stack.Find(x.wanted.Server)
	plan, added := x.proposal.Follow(x.asked(seen, sandbox, server.Ref), server, x.importance)
	if len(added) == 0 {
		return nil, nil
	}
	before := x.proposal
	x.wanted.Budget, x.wanted.Data, x.wanted.Loaded = rounded(x.left()), experiment.Bytes(before.Data), true
	err = x.propose(ctx, plan)
	tried := x.proposal.Tried(added)
	if err == nil && len(tried) > 0 && len(tried) < len(added) {
		plan.Steps = slices.DeleteFunc(plan.Steps, func(s advise.Step) bool {
			return slices.ContainsFunc(added, s.Equal) && !slices.ContainsFunc(tried, s.Equal)
		})
		err = x.propose(ctx, plan)
	}
	if err == nil && len(tried) > 0 {
		_, err = x.needs(ctx)
	}
	if err != nil || len(tried) == 0 {
		x.proposal = before
		return nil, err
	}
	return tried, nil
}

// asked gives the steps that check advises the server in the sandbox, as steps
// of the one that it is like, where they were asked for.
func (x *Runner) asked(seen *stack.Stack, sandbox, server stack.Ref) (steps []advise.Step) {
	for _, s := range x.adviceFor(sandbox, seen).Steps {
		if s.Knob.Of != sandbox {
			continue
		}
		s.Knob.Of = server
		if x.Know.Choice.Takes(s) {
			steps = append(steps, s)
		}
	}
	return steps
}

// stepsText lists what steps set.
func (x *Runner) stepsText(steps []advise.Step) string {
	var all []string
	for _, s := range steps {
		t := catalog.Text
		if f := x.Know.Catalog.Fact(s.Knob.Of.Kind, s.Knob.Name); f != nil {
			t = f.Type
		}
		all = append(all, s.Knob.Name+" = "+catalog.ShowAs(t, s.To))
	}
	return strings.Join(all, ", ")
}

// addStage adds what follows from a stage that has ended, where that is not
// there yet and there is time for it. Where the server cannot be used with all
// advice, a short trial of each step by itself shows with which; where that
// is known, all advice is tried without it.
func (x *Runner) addStage(ctx context.Context, i int) error {
	var s rehearse.Stage
	var ok bool
	var err error
	r, next := x.reports[i], ""
	if i+1 < len(x.proposal.Stages) {
		next = x.proposal.Stages[i+1].Name
	}
	switch x.proposal.Stages[i].Name {
	case rehearse.StageAlone:
		if next == rehearse.StageBut {
			return nil
		}
		refused := x.proposal.Refused(r)
		if s, ok, err = x.proposal.AllBut(r); ok || len(refused) > 0 {
			x.Watch.Tell("refused by the server: " + strings.Join(refused, "; "))
		} else {
			x.Watch.Tell("no step is refused by itself: the server refuses only the combination")
		}
	case x.proposal.Stages[0].Name:
		if i > 0 || next == rehearse.StageAlone {
			return nil
		}
		s, ok, err = x.proposal.Alone(r)
	}
	if err != nil || !ok {
		return err
	}
	return x.insert(ctx, i+1, s)
}

// insert puts a stage before one that is yet to come, and keeps it with the
// others, where there is time for it.
func (x *Runner) insert(ctx context.Context, at int, s rehearse.Stage) error {
	stages, reports := x.proposal.Stages, x.reports
	x.proposal.Stages, x.reports = slices.Insert(slices.Clone(stages), at, s), slices.Insert(slices.Clone(reports), at, report.Report{})
	if takes, left := x.takes(at), max(0, x.left()-x.keptBack()); takes > left {
		x.proposal.Stages, x.reports = stages, reports
		x.Watch.Tell(notBegun(stageWords(s.Name), takes, left))
		return nil
	}
	if x.kept.Name == "" {
		return nil
	}
	x.kept.Proposal = x.proposal
	return x.write(ctx, x.kept)
}
