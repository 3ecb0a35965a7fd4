package ledger

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"modernc.org/sqlite"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/tree"
)

// openDirectory opens the ledger of a directory.
func openDirectory(ctx context.Context, where string, create bool) (*Ledger, error) {
	dir, err := filepath.Abs(where)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, "ledger.sqlite")
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if !create {
			return nil, errNoLedger()
		}
		err = makeDatabase(dir, path)
	}
	if err != nil {
		return nil, explainFile(err)
	}
	connector, err := sqlite.NewConnector(sqliteName(path))
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	if create {
		if err := writeAhead(ctx, db); err != nil {
			return nil, errors.Join(explainSQLite(err), db.Close())
		}
	}
	files := directory(filepath.Join(dir, "files"))
	files.tidy()
	return &Ledger{where: where, db: db, dialect: sqliteDialect(), files: files, locks: lockFiles(filepath.Join(dir, "locks"))}, nil
}

// makeDatabase makes the directory and an empty database in it. SQLite would
// make the file too, and say less well why it cannot. A file that is there is
// never opened here: closing it would free the locks that SQLite has on it.
func makeDatabase(dir, path string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), syncDir(dir), syncDir(filepath.Dir(dir)))
}

// writeAhead gives a database a write-ahead log, which it has for good then. To
// do so SQLite locks after it has read, where it does not wait for others who
// have read and want the same, whatever the time it was given.
func writeAhead(ctx context.Context, db *sql.DB) error {
	for {
		_, err := db.ExecContext(ctx, `PRAGMA journal_mode = WAL`)
		if e, ok := errors.AsType[*sqlite.Error](err); !ok || e.Code()&0xff != sqliteBusy {
			return err
		}
		if await.Pause(ctx, 10*time.Millisecond) != nil {
			return err
		}
	}
}

// sqliteName asks that the log is synced at each commit, and for transactions
// that wait for their turn when they begin rather than fail later.
func sqliteName(path string) string {
	q := url.Values{
		"_busy_timeout": {"60000"}, "_synchronous": {"FULL"}, "_foreign_keys": {"1"},
		"_txlock": {"immediate"}, "_error_rc": {"1"},
	}
	return (&url.URL{Scheme: "file", Path: path, RawQuery: q.Encode()}).String()
}

func sqliteDialect() dialect {
	return dialect{
		place:   "INTEGER PRIMARY KEY AUTOINCREMENT",
		moment:  "TEXT",
		json:    "TEXT",
		exists:  `SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'ledger'`,
		explain: explainSQLite,
		passing: func(error) bool { return false }, // SQLite has waited already
	}
}

// Primary result codes, https://www.sqlite.org/rescode.html.
const (
	sqliteBusy     = 5
	sqliteReadOnly = 8
	sqliteIO       = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

func explainSQLite(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return explainFile(err)
	}
	help := ""
	switch e.Code() & 0xff {
	case sqliteBusy:
		help = "another process has been writing into it for a minute; is that process stopped?"
	case sqliteReadOnly, sqliteCantOpen:
		help = "even to read them, it needs the right to write to the directory and its files: run it as the user who made it"
	case sqliteIO:
		help = "check the kernel log for errors of the disk; a full disk may do it too"
	case sqliteCorrupt, sqliteNotADB:
		help = "the file ledger.sqlite is damaged or not a ledger: keep a copy, and see what sqlite3's .recover can save"
	case sqliteFull:
		help = "the disk is full: make room"
	}
	return hint.With(err, help)
}

func explainFile(err error) error {
	if tree.Full(err) {
		return hint.With(err, "the disk is full: make room")
	}
	if errors.Is(err, fs.ErrPermission) {
		return hint.With(err, "use another directory with --ledger, or run it as the owner of this one")
	}
	return err
}

// lockFiles locks with flock, which ends with its holder.
type lockFiles string

func (dir lockFiles) lock(ctx context.Context, hash string) (func() error, error) {
	sum := sha256.Sum256([]byte(hash)) // whatever the hash looks like, this is the name of a file
	unlock, err := host.NewLiveDoer(host.NewLive(host.LiveOptions{})).Lock(ctx, filepath.Join(string(dir), hex.EncodeToString(sum[:16])))
	if errors.Is(err, host.ErrLocked) {
		return nil, errHeld
	}
	if err != nil {
		return nil, fmt.Errorf("make its lock: %w", explainFile(err))
	}
	return func() error { unlock(); return nil }, nil
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// ErrInUse says that a ledger cannot be glanced at, because somebody writes
// into it or was killed while writing.
var ErrInUse = errors.New("a lab writes into it, or was killed while it did")

// Glance opens the ledger of a directory for commands that change nothing: not
// even a helper file of SQLite is made. The error is fs.ErrNotExist when there
// is no ledger, and ErrInUse when only OpenExisting can read it. What is written after
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
