package record

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// glossary reads the words of one dictionary, and keeps those that were read: most blocks have them in common.
type glossary[T any] struct {
	db     *sql.DB
	table  string
	decode func(data []byte) (T, error)
	kept   map[int64]T
}

// mostKept is how many words are kept: then it begins anew.
const mostKept = 1 << 13

func newGlossary[T any](db *sql.DB, table string, decode func(data []byte) (T, error)) glossary[T] {
	return glossary[T]{db, table, decode, map[int64]T{}}
}

// word gives the word of a number.
func (g glossary[T]) word(ctx context.Context, id int64) (v T, err error) {
	if v, known := g.kept[id]; known {
		return v, nil
	}
	var data []byte
	err = g.db.QueryRowContext(ctx, `SELECT columns FROM `+g.table+` WHERE id = ?`, id).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return v, errDamaged
	}
	if err != nil {
		return v, fmt.Errorf("read %s %d: %w", g.table, id, err)
	}
	plain, err := unpack(data)
	if err != nil {
		return v, err
	}
	if v, err = g.decode(plain); err != nil {
		return v, err
	}
	if len(g.kept) >= mostKept {
		clear(g.kept)
	}
	g.kept[id] = v
	return v, nil
}
