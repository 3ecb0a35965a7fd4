package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"

	"modernc.org/sqlite"

	"plumb/internal/hint"
)

// Form is the number of the form in which recordings are written. Form 1 had
// its blocks all in zstd. It is read for ever; who goes on with such a recording
// leaves those blocks as they are, and adds others.
const Form = 2

// ErrNewer says that a recording is of a form this program does not know.
var ErrNewer = errors.New("a newer plumb wrote it")

// The tables. Times are nanoseconds since 1970; a checksum covers what stands
// before it in its row. What blocks have in common is stored once, with the
// time of the last block that needs it.
const tables = `
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE schema (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, columns BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE gap_list (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, columns BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE digest (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, columns BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE block (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, t0 INTEGER NOT NULL, last INTEGER NOT NULL, schema TEXT NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE INDEX block_time ON block (tier, t0);
CREATE TABLE session_sample (block INTEGER PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE digest_delta (block INTEGER PRIMARY KEY, base INTEGER NOT NULL, data BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
CREATE TABLE stack (id INTEGER PRIMARY KEY, tier INTEGER NOT NULL, columns BLOB NOT NULL, used INTEGER NOT NULL) STRICT;
CREATE TABLE picture (at INTEGER NOT NULL, block INTEGER NOT NULL, place INTEGER NOT NULL, stack INTEGER NOT NULL, PRIMARY KEY (block, place, at)) STRICT;
CREATE INDEX picture_time ON picture (at);
CREATE TABLE verdict (id TEXT NOT NULL, server TEXT NOT NULL, since INTEGER NOT NULL, until INTEGER NOT NULL, span BLOB NOT NULL, PRIMARY KEY (id, server, since)) STRICT;
CREATE TABLE gap (since INTEGER NOT NULL, until INTEGER NOT NULL, why TEXT NOT NULL, hint TEXT NOT NULL) STRICT;
CREATE INDEX gap_time ON gap (until);
CREATE TABLE baseline (at INTEGER PRIMARY KEY, data BLOB NOT NULL, crc INTEGER NOT NULL) STRICT;
`

// File is the database in the directory of a recording.
const File = "recording.sqlite"

// create makes the tables in an empty database. Small pages waste little behind
// a blob.
func create(ctx context.Context, db *sql.DB, meta map[string]string) error {
	for _, pragma := range []string{`PRAGMA page_size = 2048`, `PRAGMA auto_vacuum = INCREMENTAL`, `PRAGMA journal_mode = WAL`} {
		if _, err := db.ExecContext(ctx, pragma); err != nil {
			return err
		}
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	if _, err := tx.ExecContext(ctx, tables); err != nil {
		return err
	}
	for key, value := range meta {
		if _, err := tx.ExecContext(ctx, `INSERT INTO meta VALUES (?, ?)`, key, value); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// made tells whether a database has tables.
func made(ctx context.Context, db *sql.DB) (bool, error) {
	n := 0
	err := db.QueryRowContext(ctx, `SELECT count(*) FROM sqlite_schema`).Scan(&n)
	return n > 0, err
}

// check refuses what is no recording, is of a newer form, or has other tables:
// whoever made those chose what reading them does.
func check(ctx context.Context, db *sql.DB) error {
	form := ""
	err := db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'form'`).Scan(&form)
	if e, ok := errors.AsType[*sqlite.Error](err); ok && e.Code()&0xff == sqliteError || errors.Is(err, sql.ErrNoRows) {
		return hint.With(errors.New("it is not a recording"), "name the directory that plumb watch record writes")
	}
	if err != nil {
		return err
	}
	n, err := strconv.Atoi(form)
	if err != nil {
		return fmt.Errorf("its form is %q, and not a number", form)
	}
	if n > Form {
		version := "?"
		_ = db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'plumb'`).Scan(&version) // only to say more
		return hint.With(fmt.Errorf("it has format %d, but this Plumb knows format %d: %w (%s)", n, Form, ErrNewer, version), "use that plumb, or name another directory")
	}
	return sameTables(ctx, db)
}

// renew says of a recording of an older form that it now holds blocks of ours,
// so that an older plumb does not take them for damaged ones.
func renew(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, `UPDATE meta SET value = ? WHERE key = 'form' AND value <> ?`, strconv.Itoa(Form), strconv.Itoa(Form))
	return err
}

func sameTables(ctx context.Context, db *sql.DB) error {
	rows, err := db.QueryContext(ctx, `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid`)
	if err != nil {
		return err
	}
	defer rows.Close()
	var got []string
	for rows.Next() {
		text := ""
		if err := rows.Scan(&text); err != nil {
			return err
		}
		got = append(got, text)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if strings.Join(got, ";\n")+";" != strings.TrimSpace(tables) {
		return errors.New("its tables are not those of a recording")
	}
	return nil
}

// database opens the file. Writers are alone, by the lock of the directory;
// readers have a connection of their own.
func database(dir string, q url.Values) (*sql.DB, error) {
	for _, pragma := range []string{"busy_timeout(10000)", "trusted_schema(0)", "cell_size_check(1)", "cache_size(-2000)"} {
		q.Add("_pragma", pragma)
	}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: filepath.Join(dir, File), RawQuery: q.Encode()}).String())
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(connector)
	db.SetMaxOpenConns(1)
	return db, nil
}

// Primary result codes, https://www.sqlite.org/rescode.html.
const (
	sqliteError    = 1
	sqliteReadOnly = 8
	sqliteIO       = 10
	sqliteCorrupt  = 11
	sqliteFull     = 13
	sqliteCantOpen = 14
	sqliteNotADB   = 26
)

// explain adds what a person can do about an error of SQLite.
func explain(err error) error {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	help := ""
	switch e.Code() & 0xff {
	case sqliteReadOnly, sqliteCantOpen:
		help = "run it as root, or as the user who records"
	case sqliteIO:
		help = "check the kernel log for errors of the disk"
	case sqliteCorrupt, sqliteNotADB:
		help = "the file " + File + " is damaged: move the directory away, and recording starts over; sqlite3's .recover may save part of it"
	case sqliteFull:
		help = "the disk is full: make room"
	}
	return hint.With(err, help)
}

// cannotOpen says whether SQLite may not make its helper files.
func cannotOpen(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && (e.Code()&0xff == sqliteCantOpen || e.Code()&0xff == sqliteReadOnly)
}
