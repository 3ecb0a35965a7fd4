package point

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"time"

	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/relay"
	"plumb/internal/units"
)

// Way implements replay.Engine.
func (Engine) Way(ctx context.Context, d host.Streamer, sv protect.Server, from replay.Start, to replay.Target) (replay.Way, error) {
	s := &seeking{ctx: ctx, d: d, sv: sv, argv: sv.As(d.About().Root), to: to, way: replay.Way{From: from.Position}, until: from.Until}
	if err := s.seek(); err != nil {
		return replay.Way{}, fmt.Errorf("find the way from %s to %s in the WAL: %w", from.Position, to.Text, err)
	}
	return s.way, nil
}

// seeking reads the WAL of a server.
type seeking struct {
	ctx  context.Context
	d    host.Streamer
	sv   protect.Server
	argv []string
	to   replay.Target
	way  replay.Way
	from uint64
	size uint64

	until time.Time  // what lies before from was written by then
	last  wal.Record // that is replayed
	stop  bool       // the target was passed
}

var errEnough = errors.New("enough was read")

func (s *seeking) seek() error {
	t := s.way.From.Timeline
	switch {
	case s.to.GTID != "" || s.to.File != "":
		return hint.Usage("PostgreSQL has no GTIDs and no binary log", "use a date with its zone, or a position in the WAL such as 16/B374D848")
	case s.to.Now.Timeline != t:
		return hint.With(fmt.Errorf("the server is on timeline %d, but the point on %d", s.to.Now.Timeline, t), "use a point of the current timeline, or undo the rollback first")
	}
	var ok bool
	if s.from, ok = wal.Place(s.way.From.LSN); !ok {
		return errors.New("the position of the point is not known")
	}
	start, err := s.files()
	if err != nil {
		return err
	}
	system, err := strconv.ParseUint(s.sv.Identity, 10, 64)
	if err != nil {
		return err
	}
	cat := func(ctx context.Context, out io.Writer) (err error) {
		for _, name := range s.way.Files {
			if err == nil {
				_, err = s.d.Pipe(ctx, host.Pipe{Argv: append(s.argv[:len(s.argv):len(s.argv)], "cat", "--", name), Out: out})
			}
		}
		return err
	}
	var end uint64
	_ = relay.Run(s.ctx, cat, func(in io.Reader) error { // of what was cut off nothing is wanted
		end, err = wal.Scan(in, start, system, s.record)
		return err
	})
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	return s.done(start, end)
}

// files finds the files from the point's on, in the server's directory or among those that were archived.
// It begins one before, in which the record may begin that leads into the point's.
func (s *seeking) files() (start uint64, err error) {
	at := map[string]string{}
	for _, dir := range []string{s.to.Archive, s.sv.Dir("wal")} {
		if dir == "" {
			continue
		}
		out, err := s.d.Run(s.ctx, append(s.argv[:len(s.argv):len(s.argv)], "find", "-H", dir, "-maxdepth", "1", "-type", "f", "-regextype", "posix-extended", "-regex", ".*/[0-9A-F]{24}", "-printf", `%f %s\n`)...)
		if err != nil {
			return 0, err
		}
		for line := range strings.Lines(string(out)) {
			name, size, _ := strings.Cut(strings.TrimSpace(line), " ")
			n, err := strconv.ParseUint(size, 10, 64)
			if err != nil || n < 1<<20 || n&(n-1) != 0 || s.size != 0 && n != s.size {
				continue // it is being archived, or is none
			}
			s.size, at[name] = n, path.Join(dir, name)
		}
	}
	if s.size == 0 {
		return 0, errors.New("there is no WAL")
	}
	start = s.from / s.size * s.size
	if _, ok := at[wal.Name(s.way.From.Timeline, start-s.size, s.size)]; ok && start >= s.size {
		start -= s.size
	}
	for next := start; ; next += s.size {
		name, ok := at[wal.Name(s.way.From.Timeline, next, s.size)]
		if !ok {
			break
		}
		s.way.Files = append(s.way.Files, name)
	}
	if len(s.way.Files) == 0 || start+uint64(len(s.way.Files))*s.size < s.from {
		return 0, s.missing(start + uint64(len(s.way.Files))*s.size)
	}
	return start, nil
}

func (s *seeking) missing(at uint64) error {
	return hint.With(fmt.Errorf("%s, which is needed to get there, is neither in %s nor archived, or is damaged at %s", wal.Name(s.way.From.Timeline, at, s.size), s.sv.Dir("wal"), wal.Text(at)),
		"name the directory in which archived WAL lies, with --wal DIR, or take a later point (plumb protect list)")
}

// other is the error of WAL that has the place of the point, on its timeline, and was written when the point was there already. Only a
// server that somebody set back by hand goes on on a timeline that it was on.
func (s *seeking) other(r wal.Record) error {
	return hint.With(fmt.Errorf("the point is not of the WAL that the server has: before its place, at %s, that has a commit of %s, and the point was there by %s", wal.Text(r.At), units.Instant(r.Committed), units.Instant(s.until)),
		"was the server set back? take a point of the WAL that it has now (plumb protect list); if only a clock was wrong, plumb clone starts a copy of the point")
}

// record takes one record.
func (s *seeking) record(r wal.Record) error {
	if !r.Committed.IsZero() {
		if r.At < s.from && !s.until.IsZero() && r.Committed.After(s.until) {
			return s.other(r)
		}
		t := replay.Transaction{File: wal.Name(s.way.From.Timeline, r.At, s.size), Offset: int64(r.At % s.size), Time: r.Committed, GTID: wal.Text(r.At), What: fmt.Sprintf("transaction %d", r.XID)}
		hit := !s.to.Time.IsZero() && !r.Committed.Before(s.to.Time)
		if at, ok := wal.Place(s.to.LSN); ok {
			hit = r.At >= at
		}
		switch s.stop = s.stop || hit && r.At >= s.from; {
		case hit && r.At < s.from && s.to.LSN != "":
			return hint.With(fmt.Errorf("%s is before the point", s.to.Text), "use an earlier point (plumb protect list)")
		case s.stop:
			if s.way.After = append(s.way.After, t); len(s.way.After) == replay.Near {
				return errEnough
			}
		case r.At >= s.from:
			s.way.Count++
			if s.way.Before = append(s.way.Before, t); len(s.way.Before) > replay.Near {
				s.way.Before = s.way.Before[1:]
			}
		}
	}
	if !s.stop {
		s.last = r
		if r.Spaces && r.At >= s.from {
			return hint.With(fmt.Errorf("at %s a tablespace is created or dropped, which a copy would do in the server's own directories", wal.Text(r.At)), "use a later point")
		}
	}
	return nil
}

// done proves that nothing is missing up to the end.
func (s *seeking) done(start, end uint64) error {
	w := &s.way
	written, ok := wal.Place(s.to.Now.LSN)
	if len(w.After) == 0 && (!ok || end < written/8192*8192) { // what the server has begun to write may end in a record
		return s.missing(end)
	}
	if s.last.End <= s.from { // nothing was written since
		w.Files = nil
		return nil
	}
	w.Last, w.Stop = wal.Text(s.last.At), protect.Position{LSN: wal.Text(s.last.End), Timeline: w.From.Timeline}
	w.Files = w.Files[:min(len(w.Files), int((s.last.End-1-start)/s.size)+1)]
	return nil
}
