package record

import (
	"context"
	"database/sql"
	"time"
)

// expire removes what is older than its tier is kept, and what nothing needs
// any more.
func (s *store) expire(ctx context.Context, now int64) error {
	return s.transact(ctx, func(tx *sql.Tx) error {
		for _, l := range levels {
			if err := s.removeBefore(ctx, tx, l.tier, time.Unix(0, now).Add(-l.keep).Truncate(time.Hour).UnixNano()); err != nil {
				return err
			}
		}
		b := &batchOf{ctx: ctx, tx: tx}
		thin(b, now)
		if b.err != nil {
			return b.err
		}
		return s.forget(ctx, tx, now)
	})
}

// removeBefore removes whole hours, because the statements of an hour lean on
// its first block.
func (s *store) removeBefore(ctx context.Context, tx *sql.Tx, t tier, hour int64) error {
	b := &batchOf{ctx: ctx, tx: tx}
	for _, table := range []string{"session_sample", "digest_delta"} {
		b.do(`DELETE FROM `+table+` WHERE block IN (SELECT id FROM block WHERE tier = ? AND t0 < ?)`, t, hour)
	}
	b.do(`DELETE FROM block WHERE tier = ? AND t0 < ?`, t, hour)
	return b.err
}

// thin keeps of pictures and baselines all of two days, then one an hour, and
// after two weeks one a day.
func thin(b *batchOf, now int64) {
	const hour, day = int64(time.Hour), int64(24 * time.Hour)
	for _, table := range []string{"picture", "baseline"} {
		for _, step := range []struct{ older, one int64 }{{int64(levels[0].keep), hour}, {int64(levels[1].keep), day}} {
			b.do(`DELETE FROM `+table+` WHERE at < ?1 AND rowid NOT IN (SELECT min(rowid) FROM `+table+` WHERE at < ?1 GROUP BY at / ?2)`, now-step.older, step.one)
		}
		b.do(`DELETE FROM `+table+` WHERE at < ?`, now-int64(levels[2].keep))
	}
	b.do(`DELETE FROM verdict WHERE until < ? AND until > 0`, now-int64(levels[2].keep))
	b.do(`DELETE FROM gap WHERE until < ?`, now-int64(levels[2].keep))
}

// forget removes from the dictionaries what no block needs.
func (s *store) forget(ctx context.Context, tx *sql.Tx, now int64) error {
	oldest := map[tier]int64{}
	for _, l := range levels {
		var t0 sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT min(t0) FROM block WHERE tier = ?`, l.tier).Scan(&t0); err != nil {
			return err
		}
		if t0.Valid {
			oldest[l.tier] = t0.Int64
		}
	}
	byBlocks := func(w word) bool { return w.used+2*lateBy >= oldest[w.tier] }
	for _, d := range []*dictionary{&s.words.schemas, &s.words.gapLists, &s.words.digests} {
		if err := d.forget(ctx, tx, byBlocks); err != nil {
			return err
		}
	}
	shown, err := pictured(ctx, tx)
	if err != nil {
		return err
	}
	return s.words.stacks.forget(ctx, tx, func(w word) bool { return shown[w.id] || w.used+2*lateBy >= now })
}

func pictured(ctx context.Context, tx *sql.Tx) (map[int64]bool, error) {
	rows, err := tx.QueryContext(ctx, `SELECT DISTINCT stack FROM picture`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	shown := map[int64]bool{}
	for rows.Next() {
		id := int64(0)
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		shown[id] = true
	}
	return shown, rows.Err()
}

// shrink makes room when the recording is too large: the oldest hour of the
// finest tier goes first. Each tier but the last keeps some of it to the end,
// because a recording without any second is none.
func (s *store) shrink(ctx context.Context) error {
	for range 24 {
		used, err := s.used(ctx)
		if err != nil || used <= s.opt.Cap-s.opt.Cap/32 {
			return err
		}
		t, hour, found, err := s.victim(ctx)
		if err != nil || !found {
			return err
		}
		if err := s.transact(ctx, func(tx *sql.Tx) error { return s.removeBefore(ctx, tx, t, hour) }); err != nil {
			return err
		}
	}
	return nil
}

// victim gives the tier of which to remove something, and until when.
func (s *store) victim(ctx context.Context) (t tier, hour int64, found bool, err error) {
	for _, strict := range []bool{true, false} {
		for _, l := range levels {
			var first, last sql.NullInt64
			if err := s.db.QueryRowContext(ctx, `SELECT min(t0), max(t0) FROM block WHERE tier = ?`, l.tier).Scan(&first, &last); err != nil {
				return 0, 0, false, err
			}
			if !first.Valid || strict && last.Int64-first.Int64 <= int64(l.hold) {
				continue
			}
			next := time.Unix(0, first.Int64).Truncate(time.Hour).Add(time.Hour).UnixNano()
			if next > last.Int64 {
				continue // the last of a tier stays
			}
			return l.tier, next, true, nil
		}
	}
	return 0, 0, false, nil
}

// used is what the recording takes: pages that hold something, and the
// write-ahead log at its largest. Pages that are free are used again before the
// file grows; many of them are given back.
func (s *store) used(ctx context.Context) (int64, error) {
	var pages, free, size int64
	err := s.db.QueryRowContext(ctx, `SELECT page_count, freelist_count, page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size`).Scan(&pages, &free, &size)
	if err != nil {
		return 0, err
	}
	if free > 1024 && free > pages/4 {
		_, err = s.db.ExecContext(ctx, `PRAGMA incremental_vacuum(1024)`)
	}
	return (pages-free)*size + 8<<20, err
}
