package record

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"
)

// rollUp makes blocks of a coarser tier of those of the finer one that are in none yet, for all spans that are over
// before now. What a killed run did not get to is made by the next. Blocks of a time to come are of a clock that ran
// ahead.
func (s *store) rollUp(ctx context.Context, fine, coarse level, now time.Time) error {
	lib := newLibrary(s.db)
	rows, err := lib.unrolled(ctx, fine, coarse, now.Truncate(coarse.span).UnixNano())
	if err != nil {
		return err
	}
	spanOf := func(r blockRow) int64 { return r.t0 / int64(coarse.span) }
	slices.SortStableFunc(rows, func(a, b blockRow) int { return cmp.Compare(spanOf(a), spanOf(b)) })
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && spanOf(rows[n]) == spanOf(rows[0]) {
			n++
		}
		if err := s.rollSpan(ctx, lib, rows[:n], coarse); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// unrolled lists the blocks of a tier before a time of which no block of a coarser one is made, in the order in which
// they were written. One that is made of them has a higher number than all of them: what came after it, where the clock
// was set back, is in none.
func (l *library) unrolled(ctx context.Context, fine, coarse level, end int64) ([]blockRow, error) {
	return l.rows(ctx, fine.tier, `SELECT id, t0, last FROM block AS f WHERE tier = ?1 AND t0 < ?2 AND NOT EXISTS
(SELECT 1 FROM block AS c WHERE c.tier = ?3 AND c.t0 >= f.t0 / ?4 * ?4 AND c.t0 < f.t0 / ?4 * ?4 + ?4 AND c.id > f.id) ORDER BY id`,
		fine.tier, end, coarse.tier, int64(coarse.span))
}

// spanEnd is when the span ends in which a block of a tier begins.
func spanEnd(t0 int64, l level) int64 {
	return time.Unix(0, t0).Truncate(l.span).Add(l.span).UnixNano()
}

// rollSpan makes a block of a coarser tier, or several where there are very many series, or a time came twice.
func (s *store) rollSpan(ctx context.Context, lib *library, rows []blockRow, coarse level) error {
	var blocks []*flush
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].t0 >= rows[n-1].t0 {
			n++
		}
		var entries []entry
		for _, r := range rows[:n] {
			found, _, err := lib.block(ctx, r, withoutSessions)
			if err != nil {
				return err
			}
			entries = append(entries, found...)
		}
		blocks = append(blocks, s.coarser(entries, coarse.tier, time.Unix(0, rows[0].t0).Truncate(coarse.span))...)
		rows = rows[n:]
	}
	return s.transact(ctx, func(tx *sql.Tx) error { // all or none: what has a block is not rolled up again
		for _, f := range blocks {
			if err := s.block(ctx, tx, f, nil); err != nil {
				return err
			}
		}
		return nil
	})
}

// coarser makes blocks of a tier, the first of which begins at t0.
func (s *store) coarser(entries []entry, t tier, t0 time.Time) (blocks []*flush) {
	m := &minute{t0: t0.UTC()}
	end := func() { blocks = append(blocks, s.words.flushOf(s.numbers.Add(1), t, m, nil, &bases{})) }
	for _, e := range fold(entries, t.step(), s.opt.Counter) {
		if m.full() {
			end()
			m = &minute{t0: e.At.Truncate(t.step()).UTC()}
		}
		gaps := int64(0)
		if len(e.Gaps) > 0 {
			gaps = s.words.gapLists.id(t, m.t0.UnixNano(), encodeGaps(e.Gaps))
		}
		m.add(e, gaps)
	}
	end()
	return blocks
}
