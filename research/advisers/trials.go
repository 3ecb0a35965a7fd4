package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/ledger"
)

// trials is where the trials of a cell are read from.
type trials interface {
	// of gives those of an experiment, and whether there are only such as had
	// other arms.
	of(ctx context.Context, x experiment.Experiment) (all []experiment.Record, older bool, err error)
	Close() error
}

// trials opens the ledger, or what is kept with the experiments.
func (c contest) trials(ctx context.Context) (trials, error) {
	if c.kept {
		return kept(c.experiments), nil
	}
	if !strings.Contains(c.ledger, "://") {
		if _, err := os.Stat(c.ledger); errors.Is(err, fs.ErrNotExist) {
			return nothing{}, nil
		}
	}
	l, err := ledger.OpenExisting(ctx, c.ledger)
	return book{l}, err
}

// nothing is a ledger that does not exist yet.
type nothing struct{}

func (nothing) of(context.Context, experiment.Experiment) ([]experiment.Record, bool, error) {
	return nil, false, nil
}
func (nothing) Close() error { return nil }

// book is a ledger.
type book struct{ *ledger.Ledger }

func (b book) of(ctx context.Context, x experiment.Experiment) (all []experiment.Record, older bool, err error) {
	all, err = b.Records(ctx, x.Hash)
	if err != nil || len(all) > 0 {
		return all, false, err
	}
	known, err := b.Experiments(ctx)
	return nil, slices.ContainsFunc(known, func(s ledger.Summary) bool { return s.Name == x.Name && s.Trials > 0 }), err
}
