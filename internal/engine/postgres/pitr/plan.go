package pitr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
	"plumb/internal/protect/replay"
	"plumb/internal/relay"
	"plumb/internal/units"
)

// Engine implements moment.Engine.
type Engine struct{}

var _ moment.Engine = Engine{}

// base is what a backup says of itself.
type base struct {
	id         string // of the backup, or as that of a point would be if it had been sent at once
	start, end uint64 // end is 0 where it is not known
	timeline   int
	system     uint64
	major      int
	point      moment.OfPoint
}

// Knows implements moment.Engine.
func (Engine) Knows(m manifest.Manifest) bool { return systemOf(m) != "" }

func baseOf(m manifest.Manifest) (b base, err error) {
	b.id, b.point = m.ID, m.Point != ""
	if b.point { // the log behind it can have been archived before it was sent
		b.id = manifest.NewID(m.Began, "0000")
	}
	var ok bool
	if b.start, ok = wal.Place(m.Facts[factStart]); !ok {
		return b, fmt.Errorf("where it begins is %q", m.Facts[factStart])
	}
	if end := m.Facts[factEnd]; end != "" {
		if b.end, ok = wal.Place(end); !ok {
			return b, fmt.Errorf("where it ends is %q", end)
		}
	}
	var err1, err2 error
	b.timeline, err = strconv.Atoi(m.Facts[factTimeline])
	b.system, err1 = strconv.ParseUint(m.Facts[factSystem], 10, 64)
	b.major, err2 = strconv.Atoi(m.Facts[factVersion])
	if err = errors.Join(err, err1, err2); err != nil {
		return b, err
	}
	if len(m.Streams) != 1 && !b.point {
		return b, fmt.Errorf("it has %d streams", len(m.Streams))
	}
	if b.major < 12 {
		return b, hint.With(fmt.Errorf("it is of PostgreSQL %d", b.major), "Plumb writes the recovery of PostgreSQL 12 and later: restore it with --command, and write recovery.conf by hand")
	}
	return b, nil
}

// Plan implements moment.Engine.
func (Engine) Plan(ctx context.Context, s archive.Shelf, m manifest.Manifest, a moment.Asked) (moment.Way, error) {
	b, err := baseOf(m)
	if err != nil {
		return moment.Way{}, err
	}
	if a.To.GTID != "" || a.To.File != "" {
		return moment.Way{}, hint.Usage("PostgreSQL has no GTIDs and no binary log", "use a date with its zone, or a position in the WAL such as 16/B374D848")
	}
	if a.Alone {
		return moment.Way{Server: Server(b.system), From: wal.Text(b.start), Last: textOf(b.end), Inner: inner{timeline: b.timeline, base: b}}, nil
	}
	at, isPlace := wal.Place(a.To.LSN)
	if isPlace && at < max(b.start, b.end) || !a.To.Time.IsZero() && a.To.Time.Before(m.Began) {
		return moment.Way{}, early(a.To, b)
	}
	w := moment.Way{Server: Server(b.system), From: wal.Text(b.start)}
	in, err := look(ctx, s, b, a, &w)
	if a.Proof && err != nil && ctx.Err() == nil {
		w = moment.Way{Server: w.Server, From: w.From, Notes: []string{"nothing of the archive is replayed: " + err.Error()}}
		in, err = inner{timeline: b.timeline, base: b}, nil
	}
	w.Inner = in
	return w, err
}

// look reads the archive from where a base begins up to the moment.
func look(ctx context.Context, s archive.Shelf, b base, a moment.Asked, way *moment.Way) (in inner, err error) {
	all, err := s.List(ctx, way.Server)
	if err != nil {
		return in, err
	}
	w, err := newWindow(all)
	if errors.Is(err, errNoWAL) {
		err = moment.Unreached(err)
	}
	if err != nil {
		return in, err
	}
	if err := w.read(ctx, s); err != nil {
		return in, err
	}
	timeline := cmp.Or(a.Timeline, w.newest())
	if a.Proof { // its start is a recovery from a crash, which stays on the timeline of the base
		timeline = b.timeline
	}
	if err := w.follow(timeline, b.timeline, max(b.start, b.end)); err != nil {
		return in, err
	}
	p := &planning{ctx: ctx, s: s.After(b.id), w: w, b: b, to: a.To, replace: a.Replace || a.Proof, way: *way}
	pieces, err := p.plan()
	*way = p.way
	return inner{timeline, b, w, pieces, p.last.End}, err
}

// inner is what Finish needs besides.
type inner struct {
	timeline int
	base     base
	w        *window
	pieces   []archive.Piece // that are replayed
	end      uint64          // of the last record that is
}

// planning looks for the moment.
type planning struct {
	ctx     context.Context
	s       archive.Shelf
	w       *window
	b       base
	to      replay.Target
	replace bool
	way     moment.Way
	last    wal.Record // that is replayed
	stop    bool       // the moment was passed
	until   uint64     // where the archive ends within the last file; 0: not known
}

var (
	errEnough = errors.New("enough was read")
	errLeft   = errors.New("what follows is of a timeline that was left")
)

// plan gives what is replayed.
func (p *planning) plan() ([]archive.Piece, error) {
	c := p.w.run(p.b.start)
	pieces, missing := c.pieces, c.missing
	p.until = c.until
	if len(pieces) == 0 {
		if gone, err := p.s.Beginning(p.ctx, Server(p.b.system)); err == nil && place(p.b.start, 0).Before(gone.Gone) {
			return nil, moment.Unreached(fmt.Errorf("%s, in which the %s begins, is not in the archive: %w", missing, p.b.point, gone.Pruned()))
		}
		return nil, moment.Unreached(fmt.Errorf("there is a gap: %s, in which the %s begins, is not in the archive", missing, p.b.point))
	}
	start := p.b.start / p.w.size * p.w.size
	end, err := p.scan(pieces, start)
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if !p.stop {
		if err := p.short(end, start+uint64(len(pieces))*p.w.size, missing, c.hole); err != nil {
			return nil, err
		}
		if p.until != 0 {
			p.way.Notes = append(p.way.Notes, fmt.Sprintf("the archive has nothing of what was written after %s, where another timeline begins: %s is not in it", wal.Text(p.until), missing))
		}
	}
	if p.last.End < max(p.b.end, p.b.start) || p.last.End == 0 {
		return nil, early(p.to, p.b)
	}
	p.way.Last = wal.Text(p.last.At)
	pieces = pieces[:min(len(pieces), int((p.last.End-1-start)/p.w.size)+1)]
	p.way.Files, p.way.Bytes = len(pieces), int64(uint64(len(pieces))*p.w.size)
	p.way.Room = p.way.Bytes
	return pieces, nil
}

func early(to replay.Target, b base) error {
	what := "the base is whole"
	if b.point {
		what = "the point"
	}
	return moment.BeforeBase(fmt.Errorf("%s is before %s, at %s", to.Text, what, cmp.Or(textOf(b.end), "its end")), Server(b.system))
}

func textOf(at uint64) string {
	if at == 0 {
		return ""
	}
	return wal.Text(at)
}

// short says why the moment was not reached, or nil when the end of the archive was asked for.
func (p *planning) short(end, have uint64, missing string, hole bool) error {
	to := "nothing"
	if n := len(p.way.Before); n > 0 {
		to = "the commit of " + units.Instant(p.way.Before[n-1].Time)
	}
	switch {
	case hole:
		return hint.With(fmt.Errorf("there is a gap: %s is not in the archive, and later files are", missing), "up to the gap, --to can reach "+to+" at most")
	case end < have && have-end > p.w.size:
		return hint.With(fmt.Errorf("there is a gap: the log in the archive is damaged at %s", wal.Text(end)), "up to there, --to can reach "+to+" at most")
	case p.to.Point():
		return nil
	}
	if at, ok := wal.Place(p.to.LSN); ok && at <= end {
		return nil // nothing was committed at or behind it: all there is comes before
	}
	return hint.With(fmt.Errorf("the archive ends before %s: its last record is %s, and it has no commit at or after the moment", p.to.Text, to), "--to latest replays everything in the archive")
}

// scan reads the log.
func (p *planning) scan(pieces []archive.Piece, start uint64) (end uint64, err error) {
	write := func(ctx context.Context, out io.Writer) error {
		s, end := p.s.Ahead(ctx, pieces)
		defer end()
		for _, piece := range pieces {
			e, err := s.Entry(ctx, piece)
			if err == nil {
				err = s.Read(ctx, e, out)
			}
			if err != nil {
				return err // an object that is gone or was changed
			}
		}
		return nil
	}
	err = relay.Run(p.ctx, write, func(in io.Reader) (err error) {
		end, err = wal.Scan(in, start, p.b.system, p.record)
		if errors.Is(err, errLeft) {
			end, err = p.until, nil
		}
		return err
	})
	return end, err
}

// record takes one record.
func (p *planning) record(r wal.Record) error {
	if p.until != 0 && r.At >= p.until {
		return errLeft
	}
	if !r.Committed.IsZero() && r.At >= p.b.start {
		t := replay.Transaction{File: wal.Name(p.timeline(r.At), r.At, p.w.size), Offset: int64(r.At % p.w.size), Time: r.Committed, GTID: wal.Text(r.At), What: fmt.Sprintf("transaction %d", r.XID)}
		hit := !p.to.Time.IsZero() && !r.Committed.Before(p.to.Time)
		if at, ok := wal.Place(p.to.LSN); ok {
			hit = r.At >= at
		}
		switch p.stop = p.stop || hit; {
		case p.stop:
			if p.way.After = append(p.way.After, t); len(p.way.After) == replay.Near {
				return errEnough
			}
			return nil
		default:
			p.way.Count++
			if p.way.Before = append(p.way.Before, t); len(p.way.Before) > replay.Near {
				p.way.Before = p.way.Before[1:]
			}
		}
	}
	if p.stop {
		return nil
	}
	p.last = r
	if r.Spaces && r.At >= p.b.start && !p.replace {
		return hint.With(fmt.Errorf("at %s a tablespace is created or dropped, which a copy would do in the server's own directories", wal.Text(r.At)),
			"--replace says that the server is gone; or take a backup that is later than that")
	}
	return nil
}

func (p *planning) timeline(at uint64) (of int) {
	for _, one := range p.w.way {
		if one.from <= at {
			of = one.timeline
		}
	}
	return of
}
