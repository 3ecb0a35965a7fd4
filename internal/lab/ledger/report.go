package ledger

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// Report judges an experiment by its records: the one with this name, or whose
// hash begins so; for "" the last that ran. Its blocks and stop rule are those it
// was last run with.
func (l *Ledger) Report(ctx context.Context, name string) (report.Report, error) {
	hash, err := l.chosen(ctx, name)
	if err != nil {
		return report.Report{}, err
	}
	text, err := l.Text(ctx, hash)
	if err != nil {
		return report.Report{}, err
	}
	x, err := experiment.Parse("the ledger's copy", text)
	if err != nil {
		return report.Report{}, hint.With(fmt.Errorf("read the experiment from the ledger: %w", err), "a newer Plumb may have written it")
	}
	records, err := l.Records(ctx, hash)
	return report.Make(x, records), err
}

// chosen finds an experiment by its name or hash; without one, the last that
// ran.
func (l *Ledger) chosen(ctx context.Context, name string) (hash string, err error) {
	if name != "" {
		return l.Find(ctx, name)
	}
	all, err := l.Experiments(ctx)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return "", hint.With(errors.New("the ledger holds no experiment"), "plumb lab run FILE runs one")
	}
	return slices.MaxFunc(all, func(a, b Summary) int { return a.Last.Compare(b.Last) }).Hash, nil
}
