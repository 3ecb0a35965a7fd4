package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/product"
)

// limit ends one call of the ledger, which may have to wait for others that
// write, for a slow disk, or for a database server that is being restarted.
const limit = 3 * time.Minute

// Ledger is an open ledger. Its methods may be called by any number of
// goroutines and processes.
type Ledger struct {
	where   string // as the caller named it, without a password
	db      *sql.DB
	dialect dialect
	files   store
	locks   locker
}

// store keeps files by their contents.
type store interface {
	// put keeps data under its SHA-256; it is there for good when put returns.
	put(ctx context.Context, sha string, data []byte) error
	// get gives what is kept under a SHA-256, unverified; errNoFile when there
	// is nothing.
	get(ctx context.Context, sha string) ([]byte, error)
	// name tells people where the file is.
	name(sha string) string
}

// locker gives a lock that its holder's death frees; errHeld when another has it.
type locker interface {
	lock(ctx context.Context, hash string) (unlock func() error, err error)
}

var (
	errNoFile = errors.New("there is no such file")
	errHeld   = errors.New("another lab holds it")
)

// Open opens a ledger and makes it when there is none. where is a directory, or
// postgres://user@host/database. Errors that a person can do something about
// have a hint (package hint).
func Open(ctx context.Context, where string) (*Ledger, error) { return open(ctx, where, true) }

// OpenExisting opens a ledger that is there already, for those who only read.
func OpenExisting(ctx context.Context, where string) (*Ledger, error) { return open(ctx, where, false) }

func open(ctx context.Context, where string, create bool) (l *Ledger, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if isPostgres(where) {
		l, err = openPostgres(ctx, where)
	} else {
		l, err = openDirectory(ctx, where, create)
	}
	if err != nil {
		return nil, fmt.Errorf("open the ledger %s: %w", shown(where), err)
	}
	if err := migrate(ctx, l.db, l.dialect, l.dialect.steps(), create); err != nil {
		return nil, errors.Join(fmt.Errorf("open the ledger %s: %w", l.where, l.dialect.explain(err)), l.db.Close())
	}
	return l, nil
}

func isPostgres(where string) bool {
	scheme, _, isURL := strings.Cut(where, "://")
	return isURL && product.OfScheme(scheme).Kind == product.Postgres
}

// Close ends the use of the ledger. Locks are freed by their own unlock.
func (l *Ledger) Close() error {
	if err := l.db.Close(); err != nil {
		return fmt.Errorf("close the ledger %s: %w", l.where, err)
	}
	return nil
}

// fail says what was being done, and adds a hint where there is one.
func (l *Ledger) fail(doing string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s in the ledger %s: %w", doing, l.where, l.dialect.explain(err))
}

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
		if await.Pause(ctx, pause) != nil {
			return err
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

// Lock makes sure that one lab at a time runs an experiment of this ledger. It
// does not wait: when another lab has it, that is the error. The lock is free
// again when its holder unlocks it or dies. An error of unlock says that the
// lock was lost meanwhile.
func (l *Ledger) Lock(ctx context.Context, hash string) (unlock func() error, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	free, err := l.locks.lock(ctx, hash)
	if errors.Is(err, errHeld) {
		err = hint.With(errors.New("another lab is running it"), "wait until it ends, or stop it and continue with --resume")
	}
	if err != nil {
		return nil, l.fail("lock the experiment", err)
	}
	return func() error { return l.fail("unlock the experiment", free()) }, nil
}
