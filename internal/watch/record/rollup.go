package record

import (
	"context"
	"database/sql"
	"time"
)

// rollUp makes blocks of a coarser tier of those of the finer one, for all spans
// that are over before now and have none yet. What a killed run did not get to
// is made by the next. Blocks of a time to come are of a clock that ran ahead.
func (s *store) rollUp(ctx context.Context, fine, coarse level, now time.Time) error {
	var done sql.NullInt64
	end := now.Truncate(coarse.span).UnixNano()
	if err := s.db.QueryRowContext(ctx, `SELECT max(t0) FROM block WHERE tier = ? AND t0 < ?`, coarse.tier, end).Scan(&done); err != nil {
		return err
	}
	after := int64(0)
	if done.Valid {
		after = done.Int64 + int64(coarse.span)
	}
	for {
		var first sql.NullInt64
		if err := s.db.QueryRowContext(ctx, `SELECT min(t0) FROM block WHERE tier = ? AND t0 >= ? AND t0 < ?`, fine.tier, after, end).Scan(&first); err != nil || !first.Valid {
			return err
		}
		t0 := time.Unix(0, first.Int64).Truncate(coarse.span)
		after = t0.Add(coarse.span).UnixNano()
		if after > end {
			return nil
		}
		if err := s.rollSpan(ctx, fine, coarse, t0); err != nil {
			return err
		}
	}
}

// rollSpan makes one block of a coarser tier.
func (s *store) rollSpan(ctx context.Context, fine, coarse level, t0 time.Time) error {
	lib := newLibrary(s.db)
	rows, err := lib.list(ctx, fine.tier, t0.UnixNano(), t0.Add(coarse.span).UnixNano())
	if err != nil {
		return err
	}
	var entries []entry
	for _, r := range rows {
		found, _, err := lib.block(ctx, r, withoutSessions)
		if err != nil {
			return err
		}
		entries = append(entries, found...)
	}
	m := &minute{t0: t0.UTC()}
	for _, e := range fold(entries, coarse.tier.step(), s.opt.Counter) {
		gaps := int64(0)
		if len(e.Gaps) > 0 {
			gaps = s.words.gapLists.id(coarse.tier, t0.UnixNano(), encodeGaps(e.Gaps))
		}
		m.add(e, gaps)
	}
	f := s.words.flushOf(s.numbers.next(), coarse.tier, m, nil, &bases{})
	return s.transact(ctx, func(tx *sql.Tx) error { return s.block(ctx, tx, f, nil) })
}
