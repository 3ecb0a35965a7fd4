package runner

import (
	"context"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/rehearse"
	"plumb/internal/units"
)

const (
	roundPoints  = 5 // points that are chosen together, and measured in one block beside the server as it is
	leastRounds  = 2 // with fewer a search is no more than guessing
	leastConfirm = 3 // blocks in which the best is measured anew
	mostConfirm  = 8
	vainRounds   = 3 // without a value, after which a search gives up
)

// searchAfter searches better numbers in what the stages left of the budget:
// rounds of points, each chosen by all trials before, and then the best anew in
// blocks of its own. What there is no time for, or nothing to choose, is said
// and is no error.
func (x *Runner) searchAfter(ctx context.Context) error {
	began, points := time.Now(), x.searchPoints()
	if points < leastRounds*roundPoints || x.left()-closingTime < leastRounds*x.roundTime()+x.confirmTime() {
		takes := leastRounds*x.roundTime() + x.confirmTime() + closingTime
		x.Watch.Tell(notBegun("search", takes, max(0, x.left())) + "; --max-time " + units.Short((takes*5/2 + time.Minute).Round(time.Minute)) + " leaves time for one")
		return nil
	}
	s, err := x.proposal.NewSearch(x.reports, x.Know.Catalog, points)
	if err != nil {
		x.Watch.Tell(err.Error())
		return nil
	}
	x.found = s
	err = x.searchRounds(ctx, s)
	s.Settle()
	if err == nil {
		err = x.confirm(ctx, s)
	}
	s.Took = time.Since(began)
	return err
}

// searchRounds runs rounds until no further one would leave time to measure the
// best anew.
func (x *Runner) searchRounds(ctx context.Context, s *rehearse.Search) error {
	for vain := 0; vain < vainRounds; {
		before, _, _ := s.Counted()
		stage, err := s.Next(roundPoints)
		if err != nil {
			return err
		}
		if x.left()-closingTime < x.roundTime()+x.loading(stage.Experiment)+x.confirmTime() {
			s.Ended = timeOver
			return nil
		}
		r, err := x.try(ctx, stage.Experiment, "search, "+stage.Name)
		if err != nil {
			return err
		}
		s.Take(r)
		if after, _, _ := s.Counted(); after > before {
			vain = 0
		} else {
			vain++
		}
		s.Settle()
		x.Watch.Searched(*s)
	}
	s.Ended = "trials gave no values"
	return nil
}

// confirm measures the best anew, in as many blocks as it takes and there is
// time for.
func (x *Runner) confirm(ctx context.Context, s *rehearse.Search) error {
	if s.Best == nil || s.AsAdvised() {
		return nil
	}
	stage, err := s.Confirmation(leastConfirm, mostConfirm)
	if err != nil {
		return err
	}
	if stage, err = stage.Within(x.left() - closingTime); err != nil {
		return err
	}
	r, err := x.try(ctx, stage.Experiment, "search, the best again")
	s.Confirm(r)
	return err
}

// searchPoints is how many points a search is planned with. It follows from the
// budget and from what the stages took by the ledger, so that a search that is
// gone on with asks for the same.
func (x *Runner) searchPoints() int {
	may := x.Budget - closingTime
	for _, r := range x.reports {
		may -= r.Took
	}
	e := x.proposal.Stages[0].Experiment
	trials := int(may/x.searchTrial(experiment.Estimate(e).Block)) - leastConfirm*3
	return max(0, trials*roundPoints/(roundPoints+1))
}

// searchTrial is how long a trial of a search takes where a block of the first
// stage takes so long.
func (x *Runner) searchTrial(block time.Duration) time.Duration {
	e := x.proposal.Stages[0].Experiment
	warmup, measure := rehearse.SearchPace(e)
	return max(time.Second, block/time.Duration(max(1, len(e.Arms)))-e.Warmup-e.Measure+warmup+measure)
}

// trialTime is how long a trial takes, by those so far.
func (x *Runner) trialTime() time.Duration { return x.searchTrial(x.blockTime(0)) }

func (x *Runner) roundTime() time.Duration   { return (roundPoints + 1) * x.trialTime() }
func (x *Runner) confirmTime() time.Duration { return leastConfirm * 3 * x.trialTime() }

// loading is the time that data take which an experiment needs and the lab has
// not made.
func (x *Runner) loading(e experiment.Experiment) (t time.Duration) {
	layouts := experiment.Layouts(e)
	for _, l := range layouts {
		if !x.laid[l.Key] {
			t += experiment.Estimate(e).Loading / time.Duration(len(layouts))
		}
	}
	return t
}
