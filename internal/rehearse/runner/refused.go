package runner

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
)

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
			x.Watch.Tell("no step is refused by itself: it is together that the server does not take them")
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
		x.Watch.Tell(fmt.Sprintf("%s: not begun, because %s of the budget are left and it takes %s at least", stageWords(s.Name), rounded(left), rounded(takes)))
		return nil
	}
	if x.kept.Name == "" {
		return nil
	}
	x.kept.Proposal = x.proposal
	return x.write(ctx, x.kept)
}
