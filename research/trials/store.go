package trials

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

// Store is where the trials of experiments are read from.
type Store interface {
	// Of gives those of an experiment, and whether there are only such as had
	// other arms.
	Of(ctx context.Context, x experiment.Experiment) (all []experiment.Record, older bool, err error)
	Close() error
}

// OpenLedger opens a ledger for reading. One that does not exist yet has no trials.
func OpenLedger(ctx context.Context, where string) (Store, error) {
	if !strings.Contains(where, "://") {
		if _, err := os.Stat(where); errors.Is(err, fs.ErrNotExist) {
			return nothing{}, nil
		}
	}
	l, err := ledger.OpenExisting(ctx, where)
	return book{l}, err
}

// nothing is a ledger that does not exist yet.
type nothing struct{}

func (nothing) Of(context.Context, experiment.Experiment) ([]experiment.Record, bool, error) {
	return nil, false, nil
}
func (nothing) Close() error { return nil }

// book is a ledger.
type book struct{ *ledger.Ledger }

func (b book) Of(ctx context.Context, x experiment.Experiment) (all []experiment.Record, older bool, err error) {
	all, err = b.Records(ctx, x.Hash)
	if err != nil || len(all) > 0 {
		return all, false, err
	}
	known, err := b.Experiments(ctx)
	return nil, slices.ContainsFunc(known, func(s ledger.Summary) bool { return s.Name == x.Name && s.Trials > 0 }), err
}
