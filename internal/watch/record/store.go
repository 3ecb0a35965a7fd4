package record

import (
	"context"
	"database/sql"
	"fmt"
	"sync/atomic"
	"time"

	"plumb/internal/host/scratch"
	"plumb/internal/units"
)

// store writes blocks into the database. One goroutine uses it.
type store struct {
	db      *sql.DB
	words   *words
	numbers *atomic.Int64 // of the block that was begun last
	opt     Options
	tidied  int64 // t0 of the block after which the recording was tidied
	rolled  bool  // what an earlier run left was rolled up
	newest  int64 // t0 of the block that was written last
	steady  int64 // t0 of the first block since which time goes on without a leap
}

func room(dir string) (free, total int64, err error) {
	p, err := scratch.Where(dir)
	return p.Free, p.Total, err
}

// Roomy says with an error that so little of a filesystem is free that nothing is kept there: the rest is for the servers.
func Roomy(dir string) error {
	free, total, err := room(dir)
	if err != nil {
		return err
	}
	return roomy(dir, free, total)
}

func roomy(dir string, free, total int64) error {
	if total > 0 && float64(free) < leastFree*float64(total) {
		return fmt.Errorf("the filesystem of %s has %s of %s free, and nothing is written below %.0f %%", dir, units.Bytes(free), units.Bytes(total), 100*leastFree)
	}
	return nil
}

// save writes a block and what was lost before it, in one transaction, and
// then makes room and coarser tiers. It fails when the filesystem is nearly full.
func (s *store) save(f *flush, losses []loss, c conclusion) error {
	ctx := context.Background() // ended by nothing: a write that hangs cannot be ended
	free, total, err := s.opt.Room()
	if err != nil {
		return err
	}
	if err := roomy(s.opt.Dir, free, total); err != nil {
		return err
	}
	whole := func(tx *sql.Tx) error {
		b := &batchOf{ctx: ctx, tx: tx}
		if c.write(b); b.err != nil {
			return b.err
		}
		return s.block(ctx, tx, f, losses)
	}
	if err := s.transact(ctx, whole); err != nil {
		return fmt.Errorf("write %s: %w", File, explain(err))
	}
	if err := s.tidy(ctx, f); err != nil {
		return fmt.Errorf("make room in %s: %w", File, explain(err))
	}
	return nil
}

// transact runs a transaction, in which what is new in the dictionaries goes first.
func (s *store) transact(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing
	var stored []func()
	for _, d := range s.words.each() {
		done, err := d.store(ctx, tx)
		if err != nil {
			return err
		}
		stored = append(stored, done)
	}
	if err := do(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	for _, done := range stored {
		done()
	}
	return nil
}

func (s *store) block(ctx context.Context, tx *sql.Tx, f *flush, losses []loss) error {
	b := &batchOf{ctx: ctx, tx: tx}
	for _, table := range []string{"session_sample", "digest_delta", "picture"} {
		b.do(`DELETE FROM `+table+` WHERE block = ?`, f.number)
	}
	b.do(`INSERT OR REPLACE INTO block VALUES (?, ?, ?, ?, ?, ?, ?)`, f.number, f.tier, f.t0, f.last, f.schema, f.data, sum(f.data, f.schema, int64(f.tier), f.t0))
	if f.sessions != nil {
		b.do(`INSERT INTO session_sample VALUES (?, ?, ?)`, f.number, f.sessions, sum(f.sessions, "", f.number))
	}
	if f.statements != nil {
		b.do(`INSERT INTO digest_delta VALUES (?, ?, ?, ?)`, f.number, f.base, f.statements, sum(f.statements, "", f.number, f.base))
	}
	for _, p := range f.pictures {
		b.do(`INSERT INTO picture VALUES (?, ?, ?, ?)`, p.at, f.number, p.place, p.stack)
	}
	for _, l := range losses { // once, also where a block is written again because what came behind it failed
		b.do(`INSERT INTO gap SELECT ?1, ?2, ?3, ?4 WHERE NOT EXISTS (SELECT 1 FROM gap WHERE since = ?1 AND until = ?2 AND why = ?3)`,
			l.since.UnixNano(), l.until.UnixNano(), l.why, l.hint)
	}
	return b.err
}

// batchOf runs statements until one fails.
type batchOf struct {
	ctx context.Context
	tx  *sql.Tx
	err error
	n   int64 // rows that the last one changed
}

func (b *batchOf) do(text string, args ...any) {
	if b.err != nil {
		return
	}
	r, err := b.tx.ExecContext(b.ctx, text, args...)
	if b.err = err; err == nil {
		b.n, b.err = r.RowsAffected()
	}
}

// tidy makes coarser tiers of spans that are over, and removes what is too old
// or too much. The time is that of the blocks, so that it is the same whatever
// the clock says. A clock that leaps ahead may be wrong, as after a boot, and what
// it makes old is old only when it has gone on for an hour.
func (s *store) tidy(ctx context.Context, f *flush) error {
	span := levels[1].span
	if f.t0 < s.newest || f.t0-s.newest > int64(span) {
		s.steady = f.t0
	}
	s.newest = f.t0
	if s.rolled && f.t0/int64(span) == s.tidied/int64(span) {
		return s.shrink(ctx)
	}
	for i := range levels[1:] {
		if err := s.rollUp(ctx, levels[i], levels[i+1], time.Unix(0, f.t0)); err != nil {
			return err
		}
	}
	s.rolled, s.tidied = true, f.t0
	if f.t0-s.steady >= int64(time.Hour) {
		if err := s.expire(ctx, f.t0); err != nil {
			return err
		}
	}
	return s.shrink(ctx)
}
