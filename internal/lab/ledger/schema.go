package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/hint"
)

// steps gives what leads from each version of the layout to the next. What was
// released is never changed, only added to.
func (d dialect) steps() [][]string {
	first := append([]string{
		`CREATE TABLE experiment (
			hash TEXT PRIMARY KEY,
			name TEXT NOT NULL,
			question TEXT NOT NULL,
			defined MOMENT NOT NULL,
			plumb TEXT NOT NULL)`,
		`CREATE TABLE wording (
			place PLACE,
			experiment TEXT NOT NULL REFERENCES experiment,
			written MOMENT NOT NULL,
			plumb TEXT NOT NULL,
			text TEXT NOT NULL)`,
		`CREATE INDEX wording_experiment ON wording (experiment, place)`,
		`CREATE TABLE trial (
			place PLACE,
			id TEXT NOT NULL UNIQUE,
			experiment TEXT NOT NULL REFERENCES experiment,
			block BIGINT NOT NULL,
			position BIGINT NOT NULL,
			arm TEXT NOT NULL,
			attempt BIGINT NOT NULL,
			state TEXT NOT NULL CHECK (state IN ('begun', 'finished')),
			began MOMENT,
			ended MOMENT,
			valid BOOLEAN,
			marks TEXT NOT NULL,
			remarks TEXT NOT NULL,
			metric DOUBLE PRECISION,
			rate DOUBLE PRECISION,
			rate_low DOUBLE PRECISION,
			rate_high DOUBLE PRECISION,
			program TEXT,
			plumb TEXT NOT NULL,
			record JSON NOT NULL)`,
		`CREATE INDEX trial_experiment ON trial (experiment, place)`,
	}, d.more...)
	return [][]string{first}
}

// types puts the database's own types into a statement that makes a table.
func (d dialect) types(statement string) string {
	return strings.NewReplacer(" PLACE", " "+d.place, " MOMENT", " "+d.moment, " JSON", " "+d.json).Replace(statement)
}

// migrate brings the layout to the newest version, in one transaction. It
// refuses one that is newer than this program knows.
func migrate(ctx context.Context, db *sql.DB, d dialect, steps [][]string, create bool) error {
	have, err := version(ctx, db, d)
	if err != nil {
		return err
	}
	switch {
	case have == len(steps):
		return nil
	case have > len(steps):
		return hint.Newer("it has a layout", have, len(steps))
	case have == 0 && !create:
		return errNoLedger()
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := upgrade(ctx, tx, d, steps); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// asker is a database or a transaction in it.
type asker interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// version gives the version of the layout; 0 when there is none yet.
func version(ctx context.Context, a asker, d dialect) (n int, err error) {
	var there bool
	if err := a.QueryRowContext(ctx, d.exists).Scan(&there); err != nil || !there {
		return 0, err
	}
	err = a.QueryRowContext(ctx, `SELECT version FROM ledger`).Scan(&n)
	return n, err
}

func upgrade(ctx context.Context, tx *sql.Tx, d dialect, steps [][]string) error {
	for _, s := range d.before {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return err
		}
	}
	have, err := version(ctx, tx, d) // again: another may have done it meanwhile
	if err != nil || have >= len(steps) {
		return err
	}
	var statements []string
	if have == 0 {
		statements = append(statements, `CREATE TABLE ledger (version BIGINT NOT NULL)`, `INSERT INTO ledger (version) VALUES (0)`)
	}
	for _, s := range steps[have:] {
		statements = append(statements, s...)
	}
	for _, s := range append(statements, fmt.Sprintf(`UPDATE ledger SET version = %d`, len(steps))) {
		if _, err := tx.ExecContext(ctx, d.types(s)); err != nil {
			return fmt.Errorf("bring the layout from version %d to %d: %w", have, len(steps), err)
		}
	}
	return nil
}

func errNoLedger() error {
	return hint.With(errors.New("there is no ledger"), "plumb lab run makes one; --ledger names another place")
}
