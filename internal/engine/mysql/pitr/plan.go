package pitr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
	"plumb/internal/units"
)

var _ moment.Engine = Engine{}

// Knows implements moment.Engine.
func (Engine) Knows(m manifest.Manifest) bool {
	file, _ := stood(m)
	return file != "" && (m.Point == "" || product.OfFlavor(m.Facts[factFlavor]).Kind == product.MySQL && backup.KindOf(m) == manifest.ZFS)
}

// base is what a backup says of itself.
type base struct {
	id     string // of the backup
	point  moment.OfPoint
	at     protect.Position
	apart  bool           // its GTIDs were read later than its place, and others wrote meanwhile
	server protect.Server // no more of it than what it is
	began  time.Time
	ended  time.Time
}

func baseOf(m manifest.Manifest) (b base, err error) {
	file, offset := stood(m)
	b = base{id: m.ID, point: m.Point != "", at: protect.Position{File: file, GTID: m.Facts[factGTID]}, began: m.Began, ended: m.Ended}
	if b.at.Offset, err = strconv.ParseInt(offset, 10, 64); err != nil {
		return b, err
	}
	if b.point {
		b.at.GTID, b.apart = m.Facts[factPointGTID], m.Facts[factApart] != ""
		b.server = protect.Server{Flavor: m.Facts[factFlavor], Product: m.Facts[factProduct], Version: m.Facts[factRelease]}
		return b, nil
	}
	version, rest, _ := strings.Cut(m.Facts[factVersion], "-")
	if b.server = mariaDB(version); !strings.Contains(rest, "MariaDB") {
		return b, hint.With(fmt.Errorf("it is of a server %s", m.Facts[factVersion]), "Plumb replays onto bases of MariaDB: restore it with --command, and replay by hand what plumb archive keeps")
	}
	if strings.Trim(b.at.GTID, "0123456789-,") != "" { // it goes into a statement, and into what a person is told to type
		return b, fmt.Errorf("it ends at %.100q, which are no GTIDs", b.at.GTID)
	}
	if len(m.Streams) != 1 {
		return b, fmt.Errorf("it has %d streams", len(m.Streams))
	}
	return b, nil
}

// start is where the log that is replayed onto it begins.
func (b base) start() replay.Start { return replay.Start{Position: b.at, Apart: b.apart} }

// inner is what Finish needs besides.
type inner struct {
	base   base
	server protect.Server
	log    *shelfLog
	way    replay.Way
}

// Plan implements moment.Engine.
func (Engine) Plan(ctx context.Context, s archive.Shelf, m manifest.Manifest, a moment.Asked) (moment.Way, error) {
	b, err := baseOf(m)
	if err != nil {
		return moment.Way{}, err
	}
	if a.Alone {
		from := at(b.at.File, b.at.Offset)
		return moment.Way{From: from, Last: from, Inner: inner{base: b, server: b.server, way: replay.Way{Stop: b.at}}}, nil
	}
	w, err := plan(ctx, s, b, a)
	if a.Proof && err != nil && ctx.Err() == nil {
		from := at(b.at.File, b.at.Offset)
		return moment.Way{From: from, Last: from, Inner: inner{base: b, server: b.server}, Notes: []string{"nothing of the archive is replayed: " + err.Error()}}, nil
	}
	return w, err
}

func mariaDB(version string) protect.Server {
	return protect.Server{Flavor: product.MariaDB, Product: "MariaDB " + version, Version: version}
}

// plan reads the archive from where a base ends up to the moment.
func plan(ctx context.Context, s archive.Shelf, b base, a moment.Asked) (w moment.Way, err error) {
	if a.To.LSN != "" {
		return w, hint.Usage(a.To.Text+" is a position in the WAL of PostgreSQL", "give a date with its zone, a GTID, or FILE:POSITION")
	}
	all, err := logsOf(ctx, s, b, a.Log)
	if err != nil {
		return w, err
	}
	if before(a.To, b) {
		return w, moment.BeforeBase(fmt.Errorf("%s is before the %s", a.To.Text, b.point), all[0].server)
	}
	logs, unknown := all, []string(nil)
	if saidSo(a.Log) {
		for _, l := range logs {
			l.base.id = "" // whatever its times say
		}
	} else {
		if logs, unknown, err = ofBase(ctx, all, b); err != nil {
			return w, nowhere(b, err)
		}
	}
	to := a.To
	if to.Point() {
		to.Time = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	sv := b.server
	sv.Settings = map[string]string{"log_bin_basename": path.Join(shelfDir, "log"), "log_bin_index": shelfIndex}
	log, way, err := find(ctx, logs, b, sv, to)
	if err != nil {
		return w, err
	}
	atEnd := a.To.File == way.Stop.File && a.To.Offset == way.Stop.Offset
	if len(way.After) == 0 && !a.To.Point() && !atEnd {
		last := fmt.Sprintf("nothing after the %s", b.point)
		if n := len(way.Before); n > 0 {
			last = "a commit of " + units.Moment(way.Before[n-1].Time)
		}
		return w, hint.With(fmt.Errorf("the archive ends before %s: its last is %s", a.To.Text, last), "--to latest replays everything in the archive")
	}
	if way.Count == 0 && !a.To.Time.IsZero() && a.To.Time.Before(b.ended) { // nothing that was committed between says that it is later than the base
		return w, moment.BeforeBase(fmt.Errorf("%s is before the %s is whole", a.To.Text, b.point), log.server)
	}
	w = moment.Way{Server: log.server, From: at(b.at.File, b.at.Offset), Last: at(way.Stop.File, way.Stop.Offset), Count: way.Count, Before: way.Before, After: way.After, Notes: way.Notes, Inner: inner{b, sv, log, way}}
	for _, name := range way.Files {
		for _, p := range log.files[path.Base(name)] {
			w.Files, w.Bytes = w.Files+1, w.Bytes+p.To-p.From
		}
	}
	w.Notes = append(w.Notes, unknown...)
	if b.apart {
		w.Notes = append(w.Notes, "the point was taken without a lock: the first of these transactions may be in it")
	}
	if a.To.Point() {
		w.Notes = append(w.Notes, later(all, log)...)
	}
	w.Room = 2 * w.Bytes // the server that replays it writes as much to a log of its own
	return w, nil
}

// later says that the archive has log behind the end of the series that is replayed: of a server whose log broke off.
func later(logs []*shelfLog, log *shelfLog) []string {
	var next *shelfLog
	for _, l := range logs {
		if l.series > log.series && (next == nil || l.series < next.series) {
			next = l
		}
	}
	if next == nil {
		return nil
	}
	return []string{fmt.Sprintf("the log broke off after %s: what the archive has from %s of the series %s on does not continue it, and is not replayed", log.end(), next.names[0], next.series)}
}

// before tells whether a moment comes before a base, as far as that is known without the log.
func before(to replay.Target, b base) bool {
	if to.File != "" {
		return cmp.Or(cmp.Compare(len(to.File), len(b.at.File)), cmp.Compare(to.File, b.at.File), cmp.Compare(to.Offset, b.at.Offset)) < 0
	}
	return !to.Time.IsZero() && to.Time.Before(b.began)
}

// logsOf gives the series of a server that can go on where a base ends, the likeliest first: the one of the base's time.
func logsOf(ctx context.Context, s archive.Shelf, b base, server string) ([]*shelfLog, error) {
	all, err := s.List(ctx, server)
	if err != nil {
		return nil, err
	}
	var logs []*shelfLog
	for _, series := range bySeries(all) {
		logs = append(logs, newShelfLog(s, series, b))
	}
	if len(logs) == 0 {
		return nil, moment.Unreached(errors.New(strings.TrimSpace("the archive has no binary log " + server)))
	}
	if slices.ContainsFunc(logs, func(l *shelfLog) bool { return l.server != logs[0].server }) {
		return nil, hint.Usage("the archive has the binary logs of several servers: name one", "--log NAME; plumb archive list shows them")
	}
	// Ids are times: of those that had begun when the base ended the newest, and then the later ones.
	begun, _ := slices.BinarySearchFunc(logs, manifest.NewID(b.ended, "zzzz"), func(l *shelfLog, id string) int { return cmp.Compare(l.series, id) })
	slices.Reverse(logs[:begun])
	return logs, nil
}

// find gives the series that goes on where a base ends, and the way in it. Where one ends before the moment, a later one may go on
// there too: of a server that was set back, or of one of which the end of a file was cut when it died, as MySQL does. That it is the same
// log its GTIDs tell, and places alone do not; of a point its own log does, with which it is compared later.
func find(ctx context.Context, logs []*shelfLog, b base, sv protect.Server, to replay.Target) (log *shelfLog, way replay.Way, err error) {
	var why error // no series goes on there
	for _, l := range logs {
		if log != nil && err == nil && l.series < log.series {
			continue
		}
		one, joins, bad := l.way(ctx, b, sv, to)
		switch {
		case joins && (b.at.GTID == "" && !bool(b.point) || bad == nil && len(one.After) > 0):
			return l, one, bad
		case joins && (log == nil || bad == nil):
			log, way, err = l, one, bad
		case !joins && why == nil:
			why = bad
		}
	}
	if log != nil {
		return log, way, err
	}
	if !slices.ContainsFunc(logs, func(l *shelfLog) bool { return l.files[b.at.File] != nil }) {
		if gone, err := logs[0].s.Beginning(ctx, logs[0].server); err == nil && gone.Gone.Key != "" {
			why = gone.Pruned()
		}
	}
	return nil, way, nowhere(b, why)
}

// nowhere is the error of a base behind which the archive has nothing.
func nowhere(b base, why error) error {
	return moment.Unreached(fmt.Errorf("there is a gap: no log in the archive continues at %s, where the %s ends: %w", at(b.at.File, b.at.Offset), b.point, why))
}

// way finds the way in a series, if that goes on where a base ends. That is seen while the file is read anyway.
func (l *shelfLog) way(ctx context.Context, b base, sv protect.Server, to replay.Target) (way replay.Way, joins bool, err error) {
	if l.files[b.at.File] == nil {
		return way, false, fmt.Errorf("%s is not in it", b.at.File)
	}
	j := &joint{from: b.start()}
	l.joint = j
	way, err = point.Seek(ctx, l, sv, b.start(), to)
	l.joint = nil
	if j.why != nil && (err == nil || errors.Is(j.why, binlog.ErrOther)) {
		err = j.why
	}
	return way, j.seen && j.why == nil, err
}
