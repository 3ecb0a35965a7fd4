package runner

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/advise"
	"plumb/internal/host/taped"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
	"plumb/internal/tape"
	"plumb/internal/units"
)

// What a sandbox without a live server has, unless it is said: the data are
// about half its memory, and four times the cache that servers have by default.
const (
	sandboxMemory = experiment.Bytes(1 << 30)
	sandboxData   = experiment.Bytes(512 << 20)
)

// lookTime is how long the load runs before the server is judged: rules that
// want to see activity need some.
func lookTime(budget time.Duration) time.Duration {
	return min(max(budget/15, 15*time.Second), time.Minute).Round(time.Second)
}

// looking is what the look at a sandbox without a live server is like.
func (x *Runner) looking() rehearse.Observation {
	return rehearse.Observation{Engine: x.Sandbox, Version: x.Version, Memory: cmp.Or(x.Memory, sandboxMemory), Data: cmp.Or(x.Data, sandboxData),
		Time: lookTime(x.Budget), Seed: uint64(x.began.Unix()), Want: x.want()}
}

// planned are the experiments that are known: the stages, or the look before
// them.
func (x *Runner) planned() (all []experiment.Experiment) {
	for _, s := range x.proposal.Stages {
		all = append(all, s.Experiment)
	}
	if len(all) == 0 && x.looks.Text != nil {
		all = append(all, x.looks.Experiment)
	}
	return all
}

// observe puts a server with the defaults of its distribution under load, judges
// it as if it were a live one, and makes the proposal.
func (x *Runner) observe(ctx context.Context) (err error) {
	var server stack.Ref
	if x.stack, server, err = x.lookAt(ctx, x.looks.Experiment, "a look at the server"); err != nil {
		return err
	}
	w := x.want()
	w.Server, w.Dir, w.Settings, w.Like = server, x.Dir, map[string]string{}, &x.looks.Experiment.Arms[0].Setup
	w.Budget, w.Room = rounded(x.left()), x.roomIn(ctx, x.Dir)
	x.wanted = w
	if err := x.propose(ctx, x.adviceFor(server, x.stack)); err != nil {
		return fmt.Errorf("after looking for %s: %w", units.Short(rounded(time.Since(x.began))), err)
	}
	if _, err := x.needs(ctx); err != nil {
		return err
	}
	return x.keep(ctx)
}

// lookAt carries out an experiment of one trial, and gives the stack as it was
// while the server was under load, and the server in it. what it is for stands
// before each line about how it goes.
func (x *Runner) lookAt(ctx context.Context, e experiment.Experiment, what string) (seen *stack.Stack, server stack.Ref, err error) {
	x.lab.Capture, x.lab.Late = x.Capture, true
	r, err := x.try(ctx, e, what)
	x.lab.Capture, x.lab.Late = nil, false
	if err != nil {
		return nil, server, err
	}
	if seen, err = x.stackOf(ctx, r); err == nil {
		server, err = serverBelow(seen, x.lab.Box.Dir)
	}
	if err != nil {
		return nil, server, fmt.Errorf("look at the server: %w", err)
	}
	return seen, server, nil
}

// adviceFor is what check advises one server.
func (x *Runner) adviceFor(server stack.Ref, s *stack.Stack) advise.Plan {
	k := x.Know
	k.Choice.Only = []string{server.String()}
	return k.Judge(s).Advice.Plan
}

// stackOf reads the stack that was recorded with the look.
func (x *Runner) stackOf(ctx context.Context, r report.Report) (*stack.Stack, error) {
	if len(r.Records) == 0 {
		return nil, errors.New("no trial was carried out")
	}
	rec := r.Records[len(r.Records)-1]
	sha := rec.Files["stack.tape"]
	if sha == "" {
		var why []string
		for _, m := range append(rec.Marks, rec.Remarks...) {
			why = append(why, m.Text)
		}
		return nil, errors.New(strings.Join(why, "; "))
	}
	text, err := x.store.Get(ctx, sha)
	if err != nil {
		return nil, err
	}
	t, err := tape.Read(bytes.NewReader(text), "stack.tape")
	if err != nil {
		return nil, fmt.Errorf("read the %w", err)
	}
	replay, err := taped.New(t)
	if err != nil {
		return nil, err
	}
	return x.Replay(ctx, replay)
}

// serverBelow finds the server that keeps its data below a directory.
func serverBelow(s *stack.Stack, dir string) (stack.Ref, error) {
	for _, r := range s.Roles {
		if r.Name == "data" && (strings.HasPrefix(r.Path, dir+"/") || strings.HasPrefix(r.Resolved, dir+"/")) {
			return r.DB, nil
		}
	}
	why := "no server with its data below " + dir + " was seen"
	if len(s.Gaps) > 0 {
		why += ": " + s.Gaps[len(s.Gaps)-1].Why
	}
	return stack.Ref{}, errors.New(why)
}
