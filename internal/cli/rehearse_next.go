package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/lab/experiment"
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
func (x *rehearsing) lookAgain(ctx context.Context) error {
	if x.resume || x.file != "" {
		return nil
	}
	for range mostLooks {
		stage, err := x.proposal.Next(lookTime(x.budget))
		if err != nil {
			return err
		}
		if e := experiment.Estimate(stage.Experiment); e.Block > x.left()/lookPart {
			return nil
		}
		added, err := x.follow(ctx, stage)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			x.tell("check was not asked again in the sandbox: " + err.Error())
		}
		if err != nil || len(added) == 0 {
			return nil
		}
		x.tell("check, asked again with all advice followed: " + stepsText(added))
		if err := x.keep(ctx); err != nil {
			return err
		}
	}
	return nil
}

// follow looks at the server with all advice, and makes a new proposal where
// check has more to say of it.
func (x *rehearsing) follow(ctx context.Context, s rehearse.Stage) ([]advise.Step, error) {
	seen, sandbox, err := x.lookAt(ctx, s.Experiment, "with all advice")
	if err != nil {
		return nil, err
	}
	server := x.stack.Find(x.wanted.Server)
	plan, added := x.proposal.Follow(x.asked(seen, sandbox, server.Ref), server, x.know.stake)
	if len(added) == 0 {
		return nil, nil
	}
	before := x.proposal
	x.wanted.Budget = rounded(x.left())
	err = x.propose(ctx, plan)
	tried := x.proposal.Tried(added)
	if err == nil && len(tried) > 0 && len(tried) < len(added) {
		plan.Steps = slices.DeleteFunc(plan.Steps, func(s advise.Step) bool {
			return s.Note == rehearse.AfterTheRest && !slices.ContainsFunc(tried, s.Equal)
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
func (x *rehearsing) asked(seen *stack.Stack, sandbox, server stack.Ref) (steps []advise.Step) {
	k := x.know
	k.choice.only = []string{sandbox.String()}
	for _, s := range k.judge(seen, false).Advice.Plan.Steps {
		if s.Knob.Of != sandbox {
			continue
		}
		s.Knob.Of = server
		if x.choice.takes(s) {
			steps = append(steps, s)
		}
	}
	return steps
}

// stepsText lists what steps set.
func stepsText(steps []advise.Step) string {
	var all []string
	for _, s := range steps {
		all = append(all, fmt.Sprintf("%s = %s", s.Knob.Name, s.To))
	}
	return strings.Join(all, ", ")
}
