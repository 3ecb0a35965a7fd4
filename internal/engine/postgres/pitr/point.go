package pitr

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/postgres"
	"plumb/internal/engine/postgres/point"
	"plumb/internal/engine/postgres/wal"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/relay"
)

var _ moment.PointEngine = Engine{}

// The facts that the backup of a point has.
const (
	factFlavor   = "flavor"
	factIdentity = "identity"
	factMode     = "mode"    // former versions did not say
	factApplied  = "applied" // of a standby alone
	factPlace    = "lsn"     // up to which the server had written just before the snapshots: their log ends there, or later
	factLine     = "timeline"
)

// systemOf is the system identifier of the server of which a backup is a base, or a point that log can be replayed onto; "" for others.
// A point that counts as one and is refused in the end would stand for a base: it would keep another from staying, and a gap from being told.
func systemOf(m manifest.Manifest) string {
	mode := m.Facts[factMode]
	switch {
	case m.Point == "":
		return m.Facts[factSystem]
	case m.Facts[factFlavor] == product.Postgres && backup.KindOf(m) == manifest.ZFS && m.Facts[factPlace] != "" && m.Facts[factApplied] == "" && (mode == "" || ofOneMoment(mode)):
		return m.Facts[factIdentity]
	}
	return ""
}

// ofOneMoment tells whether the files of a point are of one moment, in whichever datasets.
func ofOneMoment(mode string) bool { return mode == protect.ModeCrash || mode == protect.ModeFreeze }

// onStandby is the error of a point of a standby: what it has replayed of its log is not known from that alone.
func onStandby() error {
	return hint.With(errors.New("it is of a standby"), "log is replayed onto points of a primary: back one of its points up; without --to this one is restored as it is")
}

// Based implements moment.PointEngine. PostgreSQL itself replays onto the files of one moment: without a backup_label it first replays
// all that lies in pg_wal, and takes them for whole only then (InitWalRecovery and ReadRecord in xlogrecovery.c). Files of several moments
// need the label of a backup, and its end.
func (Engine) Based(m manifest.Manifest, told protect.Point) (manifest.Manifest, error) {
	switch at, ok := wal.Place(told.Position.LSN); {
	case !ofOneMoment(told.Mode), !told.OneMoment():
		return m, hint.With(fmt.Errorf("point %s was taken in the mode %s: its files are of several moments", told.ID, told.Mode),
			"log is replayed onto points of mode "+protect.ModeCrash+" or "+protect.ModeFreeze+"; without --to it is restored as it is")
	case told.Position.Applied != "":
		return m, fmt.Errorf("point %s: %w", told.ID, onStandby())
	case !ok || at == 0 || told.Position.Timeline == 0:
		return m, hint.With(fmt.Errorf("where the log stood when point %s was taken was not noted", told.ID), "take another one, or restore it without --to")
	}
	major := told.Server.Version[:len(told.Server.Version)-len(strings.TrimLeft(told.Server.Version, "0123456789"))]
	m.Facts = maps.Clone(m.Facts)
	maps.Copy(m.Facts, map[string]string{factSystem: told.Server.Identity, factVersion: major, factStart: told.Position.LSN, factEnd: told.Position.LSN,
		factTimeline: strconv.Itoa(told.Position.Timeline)})
	m.Began = told.Times.Snapshot
	return m, nil
}

// Onto implements moment.PointEngine.
func (Engine) Onto(ctx context.Context, d host.Launcher, s archive.Shelf, w *moment.Way, told protect.Point, a moment.At) error {
	in, ok := w.Inner.(inner)
	if !ok {
		return errors.New("it was planned by another")
	}
	if err := point.Relink(ctx, d, told.Server, a.Root); err != nil {
		return err
	}
	last, err := in.stands(ctx, d, a)
	if err == nil && !a.Alone {
		err = in.joins(ctx, s.After(in.base.id), last)
	}
	if err != nil {
		return err
	}
	if !a.Alone {
		if in.end == last.End { // nothing was written between the snapshots and the moment
			in.pieces, w.Files, w.Bytes = nil, 0, 0
		}
		if err := in.fetch(ctx, d, s, a); err != nil {
			return err
		}
	}
	recovers, after := in.recovers(*w, a)
	// A link of the source's may lead to where its own logs are.
	notes, err := settle(ctx, d, a, in.base.major, recovers, append(neutral(), postgres.Assignment{"logging_collector", "off"}))
	if err != nil {
		return err
	}
	w.Notes, w.Next = append(w.Notes, notes...), Next(a, in.base.major, after, "server")
	return nil
}

// recovers are the settings by which a point recovers, and what a person is told of that. Without anything to replay it has no target:
// it recovers to the end of the log that is in it. A target there would be one before the files are whole.
func (in inner) recovers(w moment.Way, a moment.At) (all []postgres.Assignment, after string) {
	switch {
	case a.Alone:
		all = endless("false")
	case in.pieces == nil:
		all = endless(fromAside)
	default:
		return recovery(w.Last, in.timeline), afterLog
	}
	return all, afterOwn
}

// endless are the settings by which it recovers to the end of the log.
func endless(restore string) []postgres.Assignment {
	return []postgres.Assignment{{"restore_command", restore}, {"recovery_target_timeline", "current"}, {"primary_conninfo", ""}, {"primary_slot_name", ""}}
}

// stands reads the last record in the log of a restored point, and refuses what does not lead from there to the moment: what was known before
// it was restored is only where the server stood just before its snapshots.
func (in inner) stands(ctx context.Context, d host.Launcher, a moment.At) (last wal.Record, err error) {
	control, err := in.control(ctx, d, a)
	if err != nil {
		return last, err
	}
	files, start, err := own(ctx, d, a, control)
	if err != nil {
		return last, err
	}
	var newest time.Time // of a commit in it
	var far uint64
	cat := func(ctx context.Context, out io.Writer) error {
		return a.Sh(ctx, d, nil, out, `cd -P -- "$1/pg_wal" && shift && exec cat -- "$@"`, append([]string{a.Data}, files...)...)
	}
	var bad error
	err = relay.Run(ctx, cat, func(in io.Reader) error {
		_, far, bad = wal.Extent(in, start, control.System, func(r wal.Record) error {
			if last = r; r.Committed.After(newest) {
				newest = r.Committed
			}
			if r.Spaces && r.At >= control.Redo {
				return hint.With(fmt.Errorf("at %s, just before the point, a tablespace was created or dropped, which would be done again in the server's own directories", wal.Text(r.At)), "restore a later point")
			}
			return nil
		})
		return bad
	})
	lacks := far < written(in.base.start) || last.End == 0
	switch {
	case bad != nil || err != nil && lacks: // cat fails, too, where it is cut off
		return last, fmt.Errorf("read the log of the restored point: %w", err)
	case lacks:
		return last, hint.With(fmt.Errorf("the log in the restored point ends at %s, and the server had written up to %s when it was taken", wal.Text(last.End), wal.Text(in.base.start)),
			"it is damaged, or lacks files: restore another point")
	case a.Alone:
		return last, nil
	}
	in.base.end = last.End
	if in.end < last.End || !a.To.Time.IsZero() && !newest.Before(a.To.Time) {
		return last, early(a.To, in.base)
	}
	return last, in.w.follow(in.timeline, in.base.timeline, last.End)
}

// joins is an error unless the archive has the last record of a point too: what was written behind that place could be of another past
// else, as when somebody had a server run on the restored files.
func (in inner) joins(ctx context.Context, s archive.Shelf, last wal.Record) error {
	for _, p := range in.pieces {
		_, at, _ := whole(nameOf(p), in.w.size)
		if last.At < at || last.At >= at+in.w.size {
			continue
		}
		e, err := s.Entry(ctx, p)
		if err != nil {
			return err
		}
		same := false
		err = relay.Run(ctx, func(ctx context.Context, out io.Writer) error { return s.Read(ctx, e, out) }, func(r io.Reader) error {
			_, err := wal.Scan(r, at, in.base.system, func(r wal.Record) error {
				if same = same || r.At == last.At && r.Sum == last.Sum; r.At >= last.At {
					return errEnough
				}
				return nil
			})
			return err
		})
		if err != nil && !errors.Is(err, errEnough) {
			return err
		}
		if !same && last.End <= at+in.w.size { // one that goes on in the next segment is not read here
			return hint.With(fmt.Errorf("the last record of the point, at %s, is another in %s of the archive: what follows there is of another past", wal.Text(last.At), p.File),
				"did a server run on what was restored? restore it to another dataset")
		}
	}
	return nil
}

// written is up to where there must be log when a server says that it had written up to a place: the end of a record, or that of a page,
// which it tells with or without the header of the next one.
func written(at uint64) uint64 {
	const page, header = 8 << 10, 40
	if in := at % page; in <= header {
		return at - in
	}
	return at
}

// control reads the control file, and compares it with what the backup said.
func (in inner) control(ctx context.Context, d host.Launcher, a moment.At) (c wal.Control, err error) {
	var text bytes.Buffer
	if err = a.Sh(ctx, d, nil, &text, `cd -P -- "$1" && exec head -c "$2" -- global/pg_control`, a.Data, strconv.Itoa(wal.ControlSize)); err == nil {
		c, err = wal.ReadControl(text.Bytes())
	}
	switch {
	case err != nil:
	case c.System != in.base.system:
		err = fmt.Errorf("it holds data of the server %d, and was backed up as that of %d", c.System, in.base.system)
	case c.State.Standby():
		err = onStandby()
	case c.Timeline != in.base.timeline:
		err = changing(c.Timeline, in.base.timeline)
	}
	if err != nil {
		err = fmt.Errorf("look at the restored point: %w", err)
	}
	return c, err
}

// changing is the error of a point in which not all is of one timeline: where in the log its files are whole cannot be told then.
func changing(one, other int) error {
	return hint.With(fmt.Errorf("it has data of timeline %d, and log of timeline %d: its server was changing them", one, other), "restore another point, or this one without --to")
}

// own lists the segments in a restored point from where its recovery begins.
func own(ctx context.Context, d host.Launcher, a moment.At, c wal.Control) (files []string, start uint64, err error) {
	var out bytes.Buffer
	size := uint64(0)
	err = a.Sh(ctx, d, nil, &out, `exec find -H "$1/pg_wal/" -maxdepth 1 -type f -regextype posix-extended -regex '.*/[0-9A-F]{24}' -printf '%f %s\n'`, a.Data)
	if err != nil {
		return nil, 0, fmt.Errorf("list the log of the restored point: %w", err)
	}
	there := map[string]bool{}
	for line := range strings.Lines(out.String()) {
		name, length, _ := strings.Cut(strings.TrimSpace(line), " ")
		n, err := strconv.ParseUint(length, 10, 64)
		timeline, _, is := whole(name, n)
		if err != nil || !is || !wal.IsSize(n) || size != 0 && n != size {
			continue // one that was being made
		}
		if timeline > c.Timeline {
			return nil, 0, fmt.Errorf("look at the restored point: %w", changing(c.Timeline, timeline))
		}
		size, there[name] = n, true
	}
	if size == 0 {
		return nil, 0, errors.New("the restored point has no log")
	}
	start = c.Redo / size * size
	for at := start; there[wal.Name(c.Timeline, at, size)]; at += size {
		files = append(files, wal.Name(c.Timeline, at, size))
	}
	if len(files) == 0 {
		return nil, 0, fmt.Errorf("the restored point lacks %s, at which its recovery begins", wal.Name(c.Timeline, start, size))
	}
	return files, start, nil
}
