package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/units"
)

// closingTime is what the end takes: the last server stops, and what was made
// is taken away.
const closingTime = 10 * time.Second

// errBudget ends a trial that would go on long after the budget.
var errBudget = errors.New(timeOver)

// allStages runs the stages one after another, each within what the budget
// still gives, and goes on with the first ones when time is left in the end.
func (x *Runner) allStages(ctx context.Context) error {
	limited, stop := context.WithDeadlineCause(ctx, time.Now().Add(x.left()+x.longestTrial()), errBudget)
	defer stop()
	if x.reports == nil {
		x.reports = make([]report.Report, len(x.proposal.Stages))
	}
	err := x.eachStage(limited)
	if err == nil && x.ended == "" && !x.Search {
		err = x.onceMore(limited)
	}
	if err == nil && x.ended == "" && x.Search {
		err = x.searchAfter(limited)
	}
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(limited), errBudget) {
		x.ended, err = timeOver, nil
	}
	x.dropUnbegun()
	if err == nil && x.ended == "" {
		x.ended = x.howItEnded()
	}
	return err
}

// eachStage runs the stages, each with its share of the budget.
func (x *Runner) eachStage(ctx context.Context) error {
	for i := 0; i < len(x.proposal.Stages); i++ { // more may be added behind the one at hand
		if !x.over(i) {
			e, err := x.share(i)
			if err != nil {
				return err
			}
			if e.Budget == 0 {
				return x.noTime(i)
			}
			if err := x.stage(ctx, i, e); err != nil {
				return err
			}
			if x.ofAll(i) && x.nearlyDecided(i) {
				if e, err = x.toDecide(i); err == nil && e.Budget > 0 {
					err = x.stage(ctx, i, e)
				}
				if err != nil {
					return err
				}
			}
		}
		if err := x.addStage(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// onceMore goes on with the stages that their share of the budget ended undecided.
func (x *Runner) onceMore(ctx context.Context) error {
	for i := range x.proposal.Stages {
		if !x.cutShort(i) {
			continue
		}
		e, err := x.rest(i)
		if err != nil || e.Budget == 0 {
			return err
		}
		if err := x.stage(ctx, i, e); err != nil {
			return err
		}
	}
	return nil
}

// ofAll tells whether a stage decides about all advice together.
func (x *Runner) ofAll(i int) bool {
	return i == 0 || x.proposal.Stages[i].Name == rehearse.StageBut
}

// nearlyDecided tells whether what is left of the budget may well decide about
// all advice together: how many more blocks it takes is itself only guessed at
// within a factor of two. That comes before single steps.
func (x *Runner) nearlyDecided(i int) bool {
	r := x.reports[i]
	if r.Stopped != report.BudgetUsed || len(r.Verdicts) == 0 || r.Verdicts[0].Word != report.Undecided || r.Verdicts[0].More == 0 {
		return false
	}
	return time.Duration(r.Verdicts[0].More)*x.blockTime(i) <= 2*(x.left()-x.keptBack())
}

// toDecide gives the experiment of a stage the time that may decide about all
// advice together, and no more for what else it compares.
func (x *Runner) toDecide(i int) (experiment.Experiment, error) {
	e, err := x.rest(i)
	r := x.reports[i]
	if wants := r.Took + 2*time.Duration(r.Verdicts[0].More)*x.blockTime(i); err == nil && e.Budget > wants {
		s, err := x.proposal.Stages[i].Within(wants)
		return s.Experiment, err
	}
	return e, err
}

// over tells whether a stage has nothing left to do: it is decided, or has
// used its share of the budget and another one is still to come.
func (x *Runner) over(i int) bool {
	r := x.reports[i]
	return len(r.Records) > 0 && r.Complete && (!x.cutShort(i) || !x.isLast(i))
}

func (x *Runner) isLast(i int) bool { return i == len(x.proposal.Stages)-1 }

// cutShort tells whether the budget ended a stage undecided.
func (x *Runner) cutShort(i int) bool {
	r := x.reports[i]
	return len(r.Records) > 0 && r.Stopped == report.BudgetUsed
}

// noTime ends a rehearsal before a stage that what is left of the budget does
// not suffice for.
func (x *Runner) noTime(i int) error {
	left, takes := rounded(max(0, x.left())), rounded(x.takes(i)+x.keptBack())
	if i == 0 && len(x.reports[0].Records) == 0 {
		return hint.With(fmt.Errorf("%s of --max-time are left, and all advice takes %s at least", units.Short(left), units.Short(takes)),
			fmt.Sprintf("--max-time %s or more; --data with less loads faster", units.Planned(x.Budget-left+2*takes)))
	}
	if !x.Search {
		x.ended = timeOver
	}
	if len(x.reports[i].Records) == 0 {
		x.Watch.Tell(notBegun(stageWords(x.proposal.Stages[i].Name), takes, left))
	}
	return nil
}

// stage runs one stage, or goes on with it, and tells what it has shown.
func (x *Runner) stage(ctx context.Context, i int, e experiment.Experiment) error {
	r, err := x.try(ctx, e, stageWords(x.proposal.Stages[i].Name))
	x.reports[i] = r
	if err == nil && x.ofAll(i) && len(r.Verdicts) > 0 {
		x.Watch.Tell(r.Verdicts[0].Sentence)
	}
	return err
}

// try runs an experiment, or goes on with what the ledger has of it. what
// it is for stands before each line about how it goes.
func (x *Runner) try(ctx context.Context, e experiment.Experiment, what string) (report.Report, error) {
	x.Watch.Begin(what)
	r, err := x.lab.Run(ctx, e)
	clear(x.laid) // data that an experiment does not need are not kept for the next
	for _, l := range experiment.Layouts(e) {
		x.laid[l.Key] = true
	}
	return r, err
}

func stageWords(name string) string {
	switch name {
	case "steps":
		return "each step"
	case rehearse.StageAlone:
		return "which step is refused"
	case rehearse.StageBut:
		return "all advice but what is refused"
	}
	return "all advice"
}

// share gives the experiment of a stage with its share of the budget, the last one with all that is left; with 0 when it
// could show nothing in that.
func (x *Runner) share(i int) (experiment.Experiment, error) {
	left := x.left() - x.keptBack()
	if left < x.takes(i) {
		return experiment.Experiment{}, nil
	}
	may := left + x.reports[i].Took // a stage counts all its trials
	if s := x.proposal.Stages[i]; !x.isLast(i) && s.Experiment.Budget > 0 {
		may = min(may, s.Experiment.Budget)
	}
	s, err := x.proposal.Stages[i].Within(may)
	return s.Experiment, err
}

// rest gives the experiment of a stage that was begun with all that is left of the budget; with 0 when that is not even
// one block more.
func (x *Runner) rest(i int) (experiment.Experiment, error) {
	left := x.left() - x.keptBack()
	if left < x.blockTime(i) {
		return experiment.Experiment{}, nil
	}
	s, err := x.proposal.Stages[i].Within(left + x.reports[i].Took)
	return s.Experiment, err
}

// keptBack is the part of the budget that the stages leave: for taking away
// what was made, and for a search.
func (x *Runner) keptBack() time.Duration {
	if x.Search {
		return closingTime + x.Budget*2/5
	}
	return closingTime
}

// leastBlocks is how many blocks give an interval.
const leastBlocks = 2

// takes is the least time in which a stage shows something.
func (x *Runner) takes(i int) time.Duration {
	e := x.proposal.Stages[i].Experiment
	t := time.Duration(min(leastBlocks, e.Most)) * x.blockTime(i)
	for _, l := range experiment.Layouts(e) {
		if !x.laid[l.Key] {
			return t + experiment.Estimate(e).Loading
		}
	}
	return t
}

// blockTime is how long a block of a stage takes: as planned, or longer where
// the trials so far took longer.
func (x *Runner) blockTime(i int) time.Duration {
	arms := time.Duration(len(x.proposal.Stages[i].Experiment.Arms))
	t := experiment.Estimate(x.proposal.Stages[i].Experiment).Block
	if !x.proposal.Stages[i].Measures() {
		return t // its trials are shorter than the others
	}
	for k, r := range x.reports {
		if !x.proposal.Stages[k].Measures() {
			continue
		}
		if n := len(r.Records); n > 1 { // the first has made the data
			t = max(t, arms*armTime(x.proposal.Stages[k].Experiment, r.Records[n-1]))
		}
	}
	return t
}

// armTime is how long a block took for each of its arms.
func armTime(e experiment.Experiment, last experiment.Record) time.Duration {
	took := last.Ended.Sub(last.Began)
	if e.Together() {
		return took / time.Duration(len(e.Arms))
	}
	return took
}

// longestTrial is the time that the trial at hand may take when the budget
// ends.
func (x *Runner) longestTrial() (most time.Duration) {
	for _, s := range x.proposal.Stages {
		takes := experiment.Estimate(s.Experiment).Block
		if n := len(s.Experiment.Arms); n > 0 && !s.Experiment.Together() {
			takes /= time.Duration(n)
		}
		most = max(most, takes)
	}
	return most
}

// dropUnbegun leaves the reports of the stages that were begun.
func (x *Runner) dropUnbegun() {
	for len(x.reports) > 0 && len(x.reports[len(x.reports)-1].Records) == 0 {
		x.reports = x.reports[:len(x.reports)-1]
	}
}

// howItEnded says why the stages stopped.
func (x *Runner) howItEnded() string {
	why := allDecided
	for i, r := range x.reports {
		if !x.proposal.Stages[i].Measures() {
			continue
		}
		switch r.Stopped {
		case report.BudgetUsed:
			return timeOver
		case report.AllDone:
			why = allDone
		}
	}
	return why
}

// stamp gives the experiments of a new rehearsal seeds of their own, so that
// one like an earlier one is measured anew.
func (x *Runner) stamp() (err error) {
	for i, s := range x.proposal.Stages {
		if x.proposal.Stages[i], err = s.Seeded(uint64(x.began.Unix())); err != nil {
			return err
		}
	}
	return nil
}

// notBegun says that there is no time for something.
func notBegun(what string, takes, left time.Duration) string {
	return fmt.Sprintf("%s: not begun, because it takes at least %s, and %s of --max-time are left", what, units.Short(rounded(takes)), units.Short(rounded(left)))
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Second) }
