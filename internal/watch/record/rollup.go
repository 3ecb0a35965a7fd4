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
		after = spanEnd(done.Int64, coarse)
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

// spanEnd is when the span ends in which a block of a tier begins.
func spanEnd(t0 int64, l level) int64 {
	return time.Unix(0, t0).Truncate(l.span).Add(l.span).UnixNano()
}

// rollSpan makes a block of a coarser tier, or several where there are very many series.
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
	var blocks []*flush
	end := func() { blocks = append(blocks, s.words.flushOf(s.numbers.next(), coarse.tier, m, nil, &bases{})) }
	for _, e := range fold(entries, coarse.tier.step(), s.opt.Counter) {
		if m.full() {
			end()
			m = &minute{t0: e.At.Truncate(coarse.tier.step()).UTC()}
		}
		gaps := int64(0)
		if len(e.Gaps) > 0 {
			gaps = s.words.gapLists.id(coarse.tier, m.t0.UnixNano(), encodeGaps(e.Gaps))
		}
		m.add(e, gaps)
	}
	end()
	return s.transact(ctx, func(tx *sql.Tx) error { // all or none: what has a block is not rolled up again
		for _, f := range blocks {
			if err := s.block(ctx, tx, f, nil); err != nil {
				return err
			}
		}
		return nil
	})
}
