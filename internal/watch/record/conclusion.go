package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"plumb/internal/watch"
)

// conclusion is what watch concluded, and is written with the next block: the spans of verdicts, and what was learned of the
// devices. Of each only the newest waits.
type conclusion struct {
	spans    map[spanKey]watch.Span
	learned  []watch.Baseline
	learnedT time.Time
}

type spanKey struct {
	id, server string
	since      int64
}

func keyOfSpan(s watch.Span) spanKey { return spanKey{s.ID, s.Server.String(), s.From.UnixNano()} }

// mostSpans is how many spans of verdicts wait at most for a disk that hangs.
const mostSpans = 1000

// Spans records when verdicts held. One that went on the last time is replaced.
func (w *Writer) Spans(all []watch.Span) {
	w.concluded.Lock()
	defer w.concluded.Unlock()
	for _, s := range all {
		key := keyOfSpan(s)
		if to, known := w.told[key]; known && to.Equal(s.To) || len(w.conclusion.spans) >= mostSpans {
			continue
		}
		if len(w.told) >= 10*mostSpans {
			clear(w.told)
		}
		w.told[key], w.conclusion.spans[key] = s.To, s
	}
}

// Learned records what watch has learned of the devices until a moment.
func (w *Writer) Learned(at time.Time, all []watch.Baseline) {
	w.concluded.Lock()
	defer w.concluded.Unlock()
	w.conclusion.learned, w.conclusion.learnedT = all, at
}

// take gives what waits to be written. If it cannot be written, giveBack puts it back.
func (w *Writer) take() conclusion {
	w.concluded.Lock()
	defer w.concluded.Unlock()
	c := w.conclusion
	w.conclusion = conclusion{spans: map[spanKey]watch.Span{}}
	return c
}

func (w *Writer) giveBack(c conclusion) {
	w.concluded.Lock()
	defer w.concluded.Unlock()
	for key, s := range c.spans {
		if _, newer := w.conclusion.spans[key]; !newer {
			w.conclusion.spans[key] = s
		}
	}
	if w.conclusion.learned == nil {
		w.conclusion.learned, w.conclusion.learnedT = c.learned, c.learnedT
	}
}

// write puts it beside a block.
func (c conclusion) write(b *batchOf) {
	for key, s := range c.spans {
		text, err := json.Marshal(s)
		if err != nil {
			continue // a span is plain values
		}
		until := int64(0)
		if !s.To.IsZero() {
			until = s.To.UnixNano()
		}
		b.do(`INSERT OR REPLACE INTO verdict VALUES (?, ?, ?, ?, ?)`, key.id, key.server, key.since, until, text)
	}
	if c.learned == nil {
		return
	}
	if text, err := json.Marshal(c.learned); err == nil {
		data, at := pack(text), c.learnedT.UnixNano()
		b.do(`INSERT OR REPLACE INTO baseline VALUES (?, ?, ?)`, at, data, sum(data, "", at))
	}
}

// Spans gives when verdicts held that held within a span of time, oldest first, and
// those that can no longer be read.
func (r *Reader) Spans(ctx context.Context, from, to time.Time) (spans []watch.Span, lost []Lost, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read the verdicts of %s: %w", r.dir, explain(err))
		}
	}()
	rows, err := r.db.QueryContext(ctx, `SELECT id, server, since, until, span FROM verdict WHERE since < ? AND (until = 0 OR until >= ?) ORDER BY since, id, server`, to.UnixNano(), from.UnixNano())
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key spanKey
		var until int64
		var text []byte
		if err := rows.Scan(&key.id, &key.server, &key.since, &until, &text); err != nil {
			return nil, nil, err
		}
		var s watch.Span
		if err := json.Unmarshal(text, &s); err != nil || s.ID != key.id || s.From.UnixNano() != key.since {
			lost = append(lost, damaged(key.since, max(key.since, until), "the verdict "+key.id+" about "+key.server+" is damaged"))
			continue
		}
		if s.To.IsZero() && until != 0 {
			s.To = time.Unix(0, until).UTC()
		}
		spans = append(spans, s)
	}
	return spans, lost, rows.Err()
}

// Learned gives what watch had learned of the devices at a moment, and until
// when: who judges from there on says the same again. Zero: nothing is recorded
// before it. The error may be only [Damaged].
func (r *Reader) Learned(ctx context.Context, before time.Time) (all []watch.Baseline, at time.Time, err error) {
	return learned(ctx, r.db, before)
}

func learned(ctx context.Context, db *sql.DB, before time.Time) (all []watch.Baseline, at time.Time, err error) {
	var data []byte
	var ns, crc int64
	err = db.QueryRowContext(ctx, `SELECT at, data, crc FROM baseline WHERE at <= ? ORDER BY at DESC LIMIT 1`, before.UnixNano()).Scan(&ns, &data, &crc)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, time.Time{}, nil
	}
	var plain []byte
	if err == nil {
		plain, err = checked(data, crc, ns)
	}
	if err == nil {
		err = json.Unmarshal(plain, &all)
	}
	if err != nil {
		return nil, time.Time{}, fmt.Errorf("read what was learned of the devices: %w", explain(err))
	}
	return all, time.Unix(0, ns).UTC(), nil
}

// Before gives what the recording so far has learned of the devices, to go on with.
func (w *Writer) Before() []watch.Baseline { return w.earlier }
