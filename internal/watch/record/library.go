package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"modernc.org/sqlite"

	"plumb/internal/series"
)

// library reads blocks, and keeps what many of them have in common.
type library struct {
	db       *sql.DB
	schemas  glossary[schema]
	gapLists glossary[[]series.Gap]
	digests  glossary[digest]
	bases    map[int64]base
}

func newLibrary(db *sql.DB) *library {
	return &library{
		db:       db,
		schemas:  newGlossary(db, "schema", decodeSchema),
		gapLists: newGlossary(db, "gap_list", decodeGaps),
		digests:  newGlossary(db, "digest", decodeDigest),
		bases:    map[int64]base{},
	}
}

// blockRow is a block that can be read.
type blockRow struct {
	id, t0, last int64
	tier         tier
}

// list gives the blocks of a tier that begin in a span, in the order in which
// they were written.
func (l *library) list(ctx context.Context, t tier, from, to int64) ([]blockRow, error) {
	return l.rows(ctx, t, `SELECT id, t0, last FROM block WHERE tier = ? AND t0 >= ? AND t0 < ? ORDER BY id`, t, from, to)
}

// rows reads which blocks of a tier a question is about.
func (l *library) rows(ctx context.Context, t tier, query string, args ...any) (rows []blockRow, err error) {
	found, err := l.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	for found.Next() {
		r := blockRow{tier: t}
		if err := found.Scan(&r.id, &r.t0, &r.last); err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, found.Err()
}

const (
	withSessions    = true
	withoutSessions = false
)

// block reads one block. What of it is damaged is left out, and damage says
// what that is.
func (l *library) block(ctx context.Context, r blockRow, sessions bool) (entries []entry, damage string, err error) {
	entries, err = l.values(ctx, r)
	if Damaged(err) {
		return nil, "the block of this time is damaged", nil
	}
	if err != nil {
		return nil, "", err
	}
	var parts []string
	if sessions {
		if err := l.addSessions(ctx, r, entries); Damaged(err) {
			parts = append(parts, "the sessions of this time are damaged")
		} else if err != nil {
			return nil, "", err
		}
	}
	if err := l.addStatements(ctx, r, entries); Damaged(err) {
		parts = append(parts, "the statements of this time are damaged")
	} else if err != nil {
		return nil, "", err
	}
	return entries, strings.Join(parts, "; "), nil
}

// Damaged tells whether an error says that something stored is damaged. Everything else can be read nevertheless.
func Damaged(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	return ok && e.Code()&0xff == sqliteCorrupt || errors.Is(err, errDamaged)
}

func (l *library) values(ctx context.Context, r blockRow) ([]entry, error) {
	var names string
	var data []byte
	var crc int64
	if err := l.db.QueryRowContext(ctx, `SELECT schema, data, crc FROM block WHERE id = ?`, r.id).Scan(&names, &data, &crc); err != nil {
		return nil, fmt.Errorf("read block %d: %w", r.id, err)
	}
	if sum(data, names, int64(r.tier), r.t0) != crc {
		return nil, errDamaged
	}
	in, err := openBlock(data)
	if err != nil {
		return nil, err
	}
	var schemas []schema
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		sc, err := l.schema(ctx, name)
		if err != nil {
			return nil, err
		}
		schemas = append(schemas, sc)
	}
	entries, gaps, err := decode(in, time.Unix(0, r.t0), schemas)
	for i := range entries {
		if gaps[i] != 0 && err == nil {
			entries[i].Gaps, err = l.gapLists.word(ctx, gaps[i])
		}
	}
	if err != nil {
		return nil, err
	}
	return entries, nil
}

func checked(data []byte, crc int64, numbers ...int64) ([]byte, error) {
	if sum(data, "", numbers...) != crc {
		return nil, errDamaged
	}
	return unpack(data)
}

func (l *library) schema(ctx context.Context, name string) (schema, error) {
	id, err := strconv.ParseInt(name, 10, 64)
	if err != nil {
		return schema{}, errDamaged
	}
	return l.schemas.word(ctx, id)
}

func (l *library) addSessions(ctx context.Context, r blockRow, entries []entry) error {
	var data []byte
	var crc int64
	err := l.db.QueryRowContext(ctx, `SELECT data, crc FROM session_sample WHERE block = ?`, r.id).Scan(&data, &crc)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the sessions of block %d: %w", r.id, err)
	}
	plain, err := checked(data, crc, r.id)
	if err != nil {
		return err
	}
	rows, err := decodeSessions(plain)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.batch < 0 || row.batch >= int64(len(entries)) {
			return errDamaged
		}
		entries[row.batch].Sessions = row.sessions
	}
	return nil
}

func (l *library) addStatements(ctx context.Context, r blockRow, entries []entry) error {
	rows, _, err := l.statements(ctx, r.id)
	for _, row := range rows {
		if row.batch < 0 || row.batch >= int64(len(entries)) {
			return errDamaged
		}
		entries[row.batch].Statements = row.statements
	}
	return err
}

// statements reads those of a block, and what it is as a base for others.
func (l *library) statements(ctx context.Context, id int64) ([]statementRow, base, error) {
	var data []byte
	var crc, against int64
	err := l.db.QueryRowContext(ctx, `SELECT base, data, crc FROM digest_delta WHERE block = ?`, id).Scan(&against, &data, &crc)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the statements of block %d: %w", id, err)
	}
	plain, err := checked(data, crc, id, against)
	if err != nil {
		return nil, nil, err
	}
	from, err := l.base(ctx, id, against)
	if err != nil {
		return nil, nil, err
	}
	var failed error
	rows, first, err := decodeStatements(plain, from, func(id int64) (digest, bool) {
		d, err := l.digests.word(ctx, id)
		failed = errors.Join(failed, err)
		return d, err == nil
	})
	return rows, first, errors.Join(failed, err)
}

// base gives what the statements of a block are written against. A base has
// none itself.
func (l *library) base(ctx context.Context, id, against int64) (base, error) {
	if against == 0 {
		return nil, nil
	}
	if b, known := l.bases[against]; known {
		return b, nil
	}
	if against == id {
		return nil, errDamaged
	}
	var itsOwn int64
	err := l.db.QueryRowContext(ctx, `SELECT base FROM digest_delta WHERE block = ?`, against).Scan(&itsOwn)
	if errors.Is(err, sql.ErrNoRows) || err == nil && itsOwn != 0 {
		return nil, errDamaged
	}
	if err != nil {
		return nil, err
	}
	_, b, err := l.statements(ctx, against)
	if err != nil {
		return nil, err
	}
	if len(l.bases) >= 4 {
		clear(l.bases)
	}
	l.bases[against] = b
	return b, nil
}
