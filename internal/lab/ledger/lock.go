package ledger

import (
	"context"
	"errors"

	"plumb/internal/hint"
)

// Lock makes sure that one lab at a time runs an experiment of this ledger. It
// does not wait: when another lab has it, that is the error. The lock is free
// again when its holder unlocks it or dies. An error of unlock says that the
// lock was lost meanwhile.
func (l *Ledger) Lock(ctx context.Context, hash string) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	free, err := l.locks.lock(ctx, hash)
	if errors.Is(err, errHeld) {
		err = hint.With(errors.New("another lab is running it"), "wait for its end, or stop it and go on with --resume")
	}
	if err != nil {
		return nil, l.fail("lock the experiment", err)
	}
	return func() error { return l.fail("unlock the experiment", free()) }, nil
}
