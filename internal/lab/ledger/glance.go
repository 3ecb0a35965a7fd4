package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"modernc.org/sqlite"
)

// ErrInUse says that a ledger cannot be glanced at, because somebody writes
// into it or was killed while writing.
var ErrInUse = errors.New("a lab writes into it, or was killed while it did")

// Glance opens the ledger of a directory for commands that change nothing: not
// even a helper file of SQLite is made. The error is fs.ErrNotExist when there
// is no ledger, and ErrInUse when only Look can read it. What is written after
// that is not seen.
func Glance(ctx context.Context, dir string) (*Ledger, error) {
	l, err := glance(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("look into the ledger %s: %w", dir, err)
	}
	return l, nil
}

func glance(ctx context.Context, where string) (*Ledger, error) {
	dir, err := filepath.Abs(where)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "ledger.sqlite")
	if _, err := os.Stat(path); err != nil {
		return nil, err
	}
	// What the write-ahead log holds is not in the file yet. The last who
	// closes a ledger brings it there.
	if log, err := os.Stat(path + "-wal"); err == nil && log.Size() > 0 {
		return nil, ErrInUse
	} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	q := url.Values{"mode": {"ro"}, "immutable": {"1"}, "_error_rc": {"1"}}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	l := &Ledger{where: where, db: sql.OpenDB(connector), dialect: sqliteDialect(), files: directory(filepath.Join(dir, "files")), locks: lockFiles(filepath.Join(dir, "locks"))}
	if err := migrate(ctx, l.db, l.dialect, l.dialect.steps(), false); err != nil {
		return nil, errors.Join(l.dialect.explain(err), l.db.Close())
	}
	return l, nil
}
