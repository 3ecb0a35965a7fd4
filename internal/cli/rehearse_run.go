package cli

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
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// rehearsing is one rehearsal that is being carried out.
type rehearsing struct {
	*app
	rehearseFlags
	know     check.Knowledge
	stack    *stack.Stack   // as the server was read
	wanted   rehearse.Want  // of the proposal
	looks    rehearse.Stage // at a server that is made, before there is a proposal
	proposal rehearse.Proposal
	books    string // directory of the books, and of what is known of rehearsals
	kept     kept   // the same in a file, so that it can be resumed
	lab      *lab.Lab
	hands    *host.Hands
	store    *ledger.Ledger
	watch    *labWatcher
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
	budgetUsed   = "the budget is used up"
	interrupted  = "interrupted"
	brokenOff    = "it could not go on"
	nothingToTry = "there is nothing to try"
)

func (a *app) runRehearse(ctx context.Context, f rehearseFlags) (err error) {
	if err := f.validate(); err != nil {
		return err
	}
	x := &rehearsing{app: a, rehearseFlags: f, began: time.Now(), laid: map[string]bool{}}
	if x.books, err = f.labPlace.books(); err != nil {
		return err
	}
	if x.know, err = a.loadKnowledge(f.choice, ""); err != nil {
		return err
	}
	if x.sandbox != "" {
		if err := x.proposeLook(ctx); err != nil {
			return err
		}
	} else {
		if err := x.proposeLive(ctx); err != nil {
			return err
		}
		if len(x.proposal.Stages) == 0 {
			x.ended = nothingToTry
			_, err := x.show()
			return err
		}
	}
	return x.run(ctx)
}

// proposeLive reads this host, only reads it, and makes the proposal.
func (x *rehearsing) proposeLive(ctx context.Context) (err error) {
	if x.stack, err = x.read(ctx, x.know.Catalog, x.source); err != nil {
		return err
	}
	fixes := &fixing{app: x.app, know: x.know, stack: x.stack}
	fixes.file, fixes.choice = x.file, x.choice
	plan, err := fixes.wholePlan()
	if err != nil {
		return err
	}
	server, err := x.chosenServer()
	if err != nil {
		return err
	}
	w := x.want()
	w.Server = server
	if w.Dir, err = x.absoluteDir(); err != nil {
		return err
	}
	w.Room = roomIn(ctx, w.Dir)
	x.wanted = w
	if err := x.propose(ctx, plan); err != nil {
		return err
	}
	x.wanted.Server = x.proposal.Server
	x.dir = cmp.Or(x.dir, x.proposal.Dir)
	return nil
}

// propose makes the experiments for a plan.
func (x *rehearsing) propose(ctx context.Context, plan advise.Plan) (err error) {
	if x.proposal, err = rehearse.Propose(x.stack, x.know.Catalog, plan, x.stake, x.wanted); err != nil {
		return fmt.Errorf("rehearse: %w", err)
	}
	if x.sandbox != "" {
		x.proposal.Server = stack.Ref{} // it is no server that anybody could fix
	}
	x.farFromData(ctx)
	return x.stamp()
}

// chosenServer reads --server, and sees that it is there.
func (x *rehearsing) chosenServer() (stack.Ref, error) {
	if x.server == "" {
		return stack.Ref{}, nil
	}
	ref, err := stack.ParseRef(x.server)
	if err == nil && x.stack.Find(ref) == nil {
		return ref, check.NotHere("--server", x.server, x.stack)
	}
	return ref, err
}

func (x *rehearsing) want() rehearse.Want {
	return rehearse.Want{Workload: x.workload, Threads: x.threads, Volume: x.volume, Memory: experiment.Bytes(x.memory), Data: experiment.Bytes(x.data),
		Budget: x.budget, WithoutOne: x.withoutOne, Host: x.allowHost}
}

// stake tells what a rule is about: data and service, or speed. What slows a
// server promises more than what is worth a note, whatever either says of its
// gain among its like.
func (x *rehearsing) stake(id string) (s rehearse.Stake) {
	r := x.know.Rules.Rule(id)
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

func (x *rehearsing) absoluteDir() (string, error) {
	if x.dir == "" {
		return "", nil
	}
	return filepath.Abs(x.dir)
}

// left is what the budget still gives.
func (x *rehearsing) left() time.Duration { return x.budget - x.spent - time.Since(x.began) }

// run carries the rehearsal out, and shows what came of it, also when it was
// cut off.
func (x *rehearsing) run(ctx context.Context) (err error) {
	x.hands = host.NewHands(host.NewLive(host.LiveOptions{Plumb: programVersion()}))
	defer func() { err = errors.Join(err, x.hands.Close()) }()
	if x.dir == "" {
		x.dir = "/var/tmp"
	}
	x.lab, err = x.newLab(ctx, x.hands, labMaking{x.dir, x.fetch, x.allowHost, false})
	if err != nil {
		return err
	}
	x.lab.Keep = true
	needs, err := x.needs(ctx)
	if err != nil {
		return err
	}
	if x.dryRun {
		return x.showPlan(needs)
	}
	return x.closing(ctx, x.carryOut(ctx))
}

// carryOut opens what is needed, runs all stages, and takes all away again.
func (x *rehearsing) carryOut(ctx context.Context) (err error) {
	if x.store, err = ledger.Open(ctx, x.ledger); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, x.store.Close()) }()
	if err := x.begin(ctx); err != nil {
		return err
	}
	end, err := x.openLab(ctx, x.lab, x.books, x.resume)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	x.watch = x.labWatch()
	defer x.watch.done()
	x.lab.Ledger, x.lab.Watch = x.store, x.watch.say
	if len(x.proposal.Stages) == 0 {
		if err := x.look(ctx); err != nil {
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

// closing shows what is known, notes how the rehearsal ended, and gives the
// error that it ended with.
func (x *rehearsing) closing(ctx context.Context, err error) error {
	switch {
	case err == nil:
	case ctx.Err() != nil:
		x.ended = interrupted
		err = fmt.Errorf("the rehearsal was interrupted (%w)", err)
		if x.kept.Name != "" {
			err = hint.With(err, "plumb rehearse --resume goes on")
		}
	default:
		x.ended = cmp.Or(x.ended, brokenOff)
	}
	if x.proposal.Engine == "" { // it did not come to a proposal
		return err
	}
	result, showErr := x.show()
	err = errors.Join(err, showErr, x.noteEnd(context.WithoutCancel(ctx)))
	if err == nil && x.strict && undecided(result) {
		return errMarked
	}
	return err
}

// undecided tells whether a verdict of a rehearsal is.
func undecided(r rehearse.Result) bool {
	for _, v := range append([]rehearse.Verdict{r.All}, r.Steps...) {
		if v.Word == rehearse.Undecided {
			return true
		}
	}
	return false
}
