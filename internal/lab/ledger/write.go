package ledger

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// insist writes, and tries again while the database is away for a moment: what
// a trial has left took long to measure. Without an acknowledgement it is not
// known whether a write was done, so f must bear being repeated.
func (l *Ledger) insist(ctx context.Context, f func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		err := f(ctx)
		if err == nil || ctx.Err() != nil || !l.dialect.passing(err) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// within runs f in a transaction.
func (l *Ledger) within(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := l.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, undo)
		}
		return err
	}
	return tx.Commit()
}
