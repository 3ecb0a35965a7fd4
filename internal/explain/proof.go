package explain

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"plumb/internal/check"
	"plumb/internal/coverage"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/rule"
	"plumb/internal/stats"
	"plumb/knowledge"
)

// Proof is what experiments and real hosts showed of a rule.
type Proof struct {
	Measured  []rule.Measurement // by Plumb's makers
	Rehearsed []Rehearsed        // on this machine, newest first
	Ledger    string             // which has the rehearsals
	Note      string             // why rehearsals could not be looked at; "" when they could
	Standing  *coverage.Standing // on what it was tested; nil when that could not be read
}

// Rehearsed is what a rehearsal on this machine showed of a step that a rule
// asks for.
type Rehearsed struct {
	At     time.Time
	Arm    string
	Effect stats.Estimate // on the rate, ratio less one
	Word   string         // of a report's verdict
	Hash   string         // of its experiment
}

// Bounds of a look into a ledger: a page is asked for by a person.
const (
	proofTime  = 2 * time.Second
	mostTexts  = 200 // experiments that are looked at, newest first
	mostProofs = 5   // rehearsals that are shown
)

// ProofOf gathers what experiments and real hosts showed of a rule. where is
// the ledger of this machine. Nothing that goes wrong here keeps a page from
// being shown.
func ProofOf(ctx context.Context, r *rule.Rule, where string, warn check.Warn) Proof {
	measured, err := rule.Measurements(knowledge.FS)
	warn("what was measured has a mistake", err)
	p := Proof{Measured: rule.About(measured, r.ID), Ledger: where, Standing: standing(r, warn)}
	ctx, stop := context.WithTimeout(ctx, proofTime)
	defer stop()
	p.Rehearsed, err = rehearsals(ctx, where, r.ID)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist): // most people have no ledger
	case errors.Is(err, ledger.ErrInUse):
		p.Note = fmt.Sprintf("A lab works with the ledger %s, or was killed: what it has of this rule is not shown. plumb lab list lists it.", where)
	default:
		p.Note = fmt.Sprintf("What the ledger %s has of this rule could not be read: %v.", where, hint.Cause(err))
	}
	return p
}

// standing says what a rule has met; nil when that could not be read.
func standing(r *rule.Rule, warn check.Warn) *coverage.Standing {
	one, err := coverage.ReadOne(knowledge.FS, r.ID)
	if err == nil && len(one.Met) > 0 {
		return &coverage.Standing{Met: one.Met}
	}
	all, err := coverage.Read(knowledge.FS) // to tell what it would have to meet
	warn("what rules have met has a mistake", err)
	if err != nil {
		return nil
	}
	s := all.Of(r)
	return &s
}

// rehearsals finds what rehearsals of a ledger showed of a rule, newest first.
func rehearsals(ctx context.Context, where, id string) (found []Rehearsed, err error) {
	store, err := ledger.Glance(ctx, where)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	all, err := store.Experiments(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(all, func(a, b ledger.Summary) int { return b.Last.Compare(a.Last) })
	for _, s := range all[:min(len(all), mostTexts)] {
		if len(found) >= mostProofs {
			break
		}
		one, err := rehearsalOf(ctx, store, s, id)
		if err != nil {
			return found, err
		}
		found = append(found, one...)
	}
	return found, nil
}

// rehearsalOf is what one experiment showed of a rule; nothing for most.
func rehearsalOf(ctx context.Context, store *ledger.Ledger, s ledger.Summary, id string) (found []Rehearsed, err error) {
	if s.Valid == 0 {
		return nil, nil
	}
	text, err := store.Text(ctx, s.Hash)
	if err != nil {
		return nil, err
	}
	x, err := experiment.Parse("the ledger's copy", text)
	if err != nil {
		return nil, nil // of another version of plumb
	}
	arms := rehearse.Tried(x, id)
	if len(arms) == 0 {
		return nil, nil
	}
	records, err := store.Records(ctx, s.Hash)
	if err != nil {
		return nil, err
	}
	r := report.Make(x, records)
	for _, arm := range arms {
		if effect, word, ok := rehearse.Brought(r, arm); ok {
			found = append(found, Rehearsed{At: s.Last, Arm: arm, Effect: effect, Word: word, Hash: s.Hash})
		}
	}
	return found, nil
}
