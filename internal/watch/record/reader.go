package record

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"plumb/internal/hint"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Reader reads a recording, also while it is written.
type Reader struct {
	dir string
	db  *sql.DB
	lib *library
}

// Item is what a recording holds of one moment: a picture, a batch, or that
// something is lost.
type Item struct {
	At      time.Time
	Picture *stack.Stack
	Batch   *series.Batch
	Least   []series.Reading // of a batch of a coarser tier: what its gauges were at least, where that is not the mean
	Most    []series.Reading
	Lost    *Lost
}

// Lost is a span of which something is not recorded, or can no longer be read.
type Lost struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Why   string    `json:"why"`
	Hint  string    `json:"hint,omitempty"`
}

// damaged is what can no longer be read of a span.
func damaged(since, until int64, why string) Lost {
	return Lost{Since: time.Unix(0, since).UTC(), Until: time.Unix(0, until).UTC(), Why: why, Hint: "the disk may be failing: see the kernel's log"}
}

// errNone is fs.ErrNotExist in words about a recording.
var errNone error = none{}

type none struct{}

func (none) Error() string   { return "there is none" }
func (none) Is(e error) bool { return e == fs.ErrNotExist }

// OpenReader opens the recording of a directory. The error is fs.ErrNotExist
// when there is none, and ErrNewer when a newer plumb wrote it.
func OpenReader(ctx context.Context, dir string) (*Reader, error) {
	r, err := openReader(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("read the recording %s: %w", dir, explain(err))
	}
	return r, nil
}

func openReader(ctx context.Context, where string) (*Reader, error) {
	dir, err := filepath.Abs(where)
	if err != nil {
		return nil, err
	}
	if _, err := os.Lstat(filepath.Join(dir, File)); errors.Is(err, fs.ErrNotExist) {
		return nil, hint.With(errNone, "plumb watch record makes one; --dir names its directory")
	} else if err != nil {
		return nil, hint.With(err, "run it as root, or as the user who records")
	}
	if err := plain(dir); err != nil {
		return nil, err
	}
	// Helper files of SQLite are made when they are not there, and where that is
	// forbidden nobody else can be writing either.
	for _, q := range []url.Values{{"mode": {"ro"}}, {"mode": {"ro"}, "immutable": {"1"}}} {
		var db *sql.DB
		if db, err = database(dir, q); err != nil {
			return nil, err
		}
		if err = check(ctx, db); err == nil {
			return &Reader{dir: dir, db: db, lib: newLibrary(db)}, nil
		}
		err = errors.Join(err, db.Close())
		if !cannotOpen(err) {
			break
		}
		if log, e := os.Lstat(filepath.Join(dir, File+"-wal")); e == nil && log.Size() > 0 {
			return nil, hint.With(fmt.Errorf("the latest records are in %s-wal, which cannot be read in a place where nothing can be written", File), "copy the directory to a place where you can write, and name the copy with --dir")
		}
	}
	return nil, err
}

// Close ends reading.
func (r *Reader) Close() error { return r.db.Close() }

// Span is from the first moment that is recorded to the last; zero when there is none.
func (r *Reader) Span(ctx context.Context) (from, to time.Time, err error) {
	var last int64
	var b blockRow
	// A block of a coarser tier begins with the hour, whenever recording did: of those only what is older than all seconds counts.
	err = r.db.QueryRowContext(ctx, `SELECT id, tier, t0, last, (SELECT max(last) FROM block) FROM block
WHERE tier = ?1 OR last < ifnull((SELECT min(t0) FROM block WHERE tier = ?1), 1 << 62) ORDER BY t0, id LIMIT 1`, int64(seconds)).Scan(&b.id, &b.tier, &b.t0, &b.last, &last)
	if errors.Is(err, sql.ErrNoRows) {
		return from, to, nil
	}
	if err != nil {
		return from, to, err
	}
	return r.begins(ctx, b), time.Unix(0, last).UTC(), nil
}

// begins is when the first batch of a block came; of one that is damaged, when the block begins.
func (r *Reader) begins(ctx context.Context, b blockRow) time.Time {
	entries, err := r.lib.values(ctx, b)
	if err != nil || len(entries) == 0 {
		return time.Unix(0, b.t0).UTC()
	}
	return slices.MinFunc(entries, func(a, b entry) int { return a.At.Compare(b.At) }).At
}

// Host is what the recorded host is known by.
func (r *Reader) Host(ctx context.Context) (name string, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT value FROM meta WHERE key = 'host'`).Scan(&name)
	return name, err
}

// Each gives all that is recorded of a span, from up to but without to, in the
// order in which it came. First comes the picture that was valid at from. Where
// the finest tier is no longer there, batches are of a coarser one.
func (r *Reader) Each(ctx context.Context, from, to time.Time, do func(Item) error) error {
	if err := r.each(ctx, from.UnixNano(), to.UnixNano(), do); err != nil {
		return fmt.Errorf("read the recording %s: %w", r.dir, explain(err))
	}
	return nil
}

func (r *Reader) each(ctx context.Context, from, to int64, do func(Item) error) error {
	if err := r.pictureBefore(ctx, from, do); err != nil {
		return err
	}
	losses, err := r.losses(ctx, from, to)
	if err != nil {
		return err
	}
	tell := func(until int64) error {
		for len(losses) > 0 && losses[0].At.UnixNano() < until {
			if err := do(losses[0]); err != nil {
				return err
			}
			losses = losses[1:]
		}
		return nil
	}
	parts, err := r.parts(ctx, from, to)
	if err != nil {
		return err
	}
	for _, p := range parts {
		if err := (walk{Reader: r, part: p, tell: tell, do: do}).run(ctx); err != nil {
			return err
		}
	}
	return tell(to)
}

// part is a span that is read from one tier.
type part struct {
	level    level
	from, to int64
}

// parts cuts a span at the ends of the tiers. A tier begins with its first block that can have something of the
// span: one of long ago may be of a clock that was wrong.
func (r *Reader) parts(ctx context.Context, from, to int64) (parts []part, err error) {
	for _, l := range levels {
		var first sql.NullInt64
		if err := r.db.QueryRowContext(ctx, `SELECT min(t0) FROM block WHERE tier = ? AND t0 > ?`, l.tier, from-int64(l.span)).Scan(&first); err != nil {
			return nil, err
		}
		begin := max(from, first.Int64)
		if !first.Valid || begin >= to {
			continue
		}
		parts = append([]part{{l, begin, to}}, parts...)
		to = begin
	}
	return parts, nil
}

// walk gives what is recorded of one part.
type walk struct {
	*Reader
	part
	tell func(until int64) error
	do   func(Item) error
}

func (w walk) run(ctx context.Context) error {
	// A batch that came late is in the block of the minute after, and one of a
	// coarser tier may be anywhere in its span.
	rows, err := w.lib.list(ctx, w.level.tier, w.from-max(int64(w.level.span), int64(time.Minute)), w.to+int64(time.Minute))
	if err != nil {
		return err
	}
	for i, row := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		until := spanEnd(row.t0, w.level)
		if i+1 < len(rows) && rows[i+1].t0 >= row.t0 {
			until = min(until, rows[i+1].t0) // a span of very many series has several blocks
		}
		if err := w.block(ctx, row, until); err != nil {
			return err
		}
	}
	return nil
}

func (w walk) block(ctx context.Context, row blockRow, until int64) error {
	entries, damage, err := w.lib.block(ctx, row, withSessions)
	if err != nil {
		return err
	}
	if damage != "" && row.t0 < w.to && row.last >= w.from {
		lost := damaged(row.t0, max(row.last, row.t0), damage)
		if err := w.do(Item{At: lost.Since, Lost: &lost}); err != nil {
			return err
		}
	}
	pictures, err := w.pictures(ctx, row, until)
	if err != nil {
		return err
	}
	for i := range entries {
		for len(pictures) > 0 && w.due(row, pictures[0], entries[i], i) {
			if err := w.picture(ctx, pictures[0]); err != nil {
				return err
			}
			pictures = pictures[1:]
		}
		if err := w.entry(&entries[i]); err != nil {
			return err
		}
	}
	for _, p := range pictures {
		if err := w.picture(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// due says whether a picture comes before batch i.
func (w walk) due(row blockRow, p pictureRow, e entry, i int) bool {
	if row.tier == seconds {
		return p.place <= int64(i)
	}
	return p.at <= e.At.UnixNano()
}

func (w walk) inside(at int64) bool { return at >= w.from && at < w.to }

func (w walk) entry(e *entry) error {
	at := e.At.UnixNano()
	if !w.inside(at) {
		return nil
	}
	if err := w.tell(at); err != nil {
		return err
	}
	return w.do(Item{At: e.At, Batch: &e.Batch, Least: e.least, Most: e.most})
}

func (w walk) picture(ctx context.Context, p pictureRow) error {
	if !w.inside(p.at) {
		return nil
	}
	if err := w.tell(p.at); err != nil {
		return err
	}
	return w.show(ctx, p, w.do)
}

// pictures gives those of a block; of a coarser tier, those of its time, which ends
// with until.
func (w walk) pictures(ctx context.Context, row blockRow, until int64) (list []pictureRow, err error) {
	query, args := `SELECT at, place, stack FROM picture WHERE block = ? ORDER BY place, rowid`, []any{row.id}
	if row.tier != seconds {
		query, args = `SELECT at, place, stack FROM picture WHERE at >= ? AND at < ? ORDER BY at`, []any{row.t0, until}
	}
	rows, err := w.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p pictureRow
		if err := rows.Scan(&p.at, &p.place, &p.stack); err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

func (r *Reader) pictureBefore(ctx context.Context, from int64, do func(Item) error) error {
	var p pictureRow
	err := r.db.QueryRowContext(ctx, `SELECT at, place, stack FROM picture WHERE at < ? ORDER BY at DESC LIMIT 1`, from).Scan(&p.at, &p.place, &p.stack)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.show(ctx, p, do)
}

func (r *Reader) show(ctx context.Context, p pictureRow, do func(Item) error) error {
	at := time.Unix(0, p.at).UTC()
	s, err := newGlossary(r.db, "stack", decodeStack).word(ctx, p.stack) // of its own: stacks are large, and read once
	if Damaged(err) {
		lost := damaged(p.at, p.at, "the picture of this time is damaged")
		return do(Item{At: at, Lost: &lost})
	}
	if err != nil {
		return err
	}
	return do(Item{At: at, Picture: s})
}

func decodeStack(data []byte) (*stack.Stack, error) {
	s := &stack.Stack{}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, errDamaged
	}
	return s, nil
}

// losses gives the spans that were lost when they were to be recorded.
func (r *Reader) losses(ctx context.Context, from, to int64) (list []Item, err error) {
	rows, err := r.db.QueryContext(ctx, `SELECT since, until, why, hint FROM gap WHERE until >= ? AND since < ? ORDER BY since, rowid`, from, to)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var since, until int64
		var l Lost
		if err := rows.Scan(&since, &until, &l.Why, &l.Hint); err != nil {
			return nil, err
		}
		l.Since, l.Until = time.Unix(0, since).UTC(), time.Unix(0, until).UTC()
		list = append(list, Item{At: l.Since, Lost: &l})
	}
	return list, rows.Err()
}

// Lost gives the spans that could not be recorded, oldest first.
func (r *Reader) Lost(ctx context.Context, from, to time.Time) (list []Lost, err error) {
	items, err := r.losses(ctx, from.UnixNano(), to.UnixNano())
	for _, i := range items {
		list = append(list, *i.Lost)
	}
	return list, err
}
