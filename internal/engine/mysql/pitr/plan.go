package pitr

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/archive"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/hint"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

var _ moment.Engine = Engine{}

// Knows implements moment.Engine.
func (Engine) Knows(m manifest.Manifest) bool { return m.Facts[factFile] != "" }

// base is what a backup says of itself.
type base struct {
	at      protect.Position
	version string // 10.11.14
	began   time.Time
	ended   time.Time
}

func baseOf(m manifest.Manifest) (b base, err error) {
	b = base{at: protect.Position{File: m.Facts[factFile], GTID: m.Facts[factGTID]}, began: m.Began, ended: m.Ended}
	if b.at.Offset, err = strconv.ParseInt(m.Facts[factAt], 10, 64); err != nil {
		return b, err
	}
	version, rest, _ := strings.Cut(m.Facts[factVersion], "-")
	if b.version = version; !strings.Contains(rest, "MariaDB") {
		return b, hint.With(fmt.Errorf("it is of a server %s", m.Facts[factVersion]), "Plumb replays onto bases of MariaDB: restore it with --command, and replay by hand what plumb archive keeps")
	}
	if len(m.Streams) != 1 {
		return b, fmt.Errorf("it has %d streams", len(m.Streams))
	}
	return b, nil
}

// inner is what Finish needs besides.
type inner struct {
	base   base
	server protect.Server
	log    *shelfLog
	way    replay.Way
}

// Plan implements moment.Engine.
func (Engine) Plan(ctx context.Context, s archive.Shelf, m manifest.Manifest, a moment.Asked) (w moment.Way, err error) {
	b, err := baseOf(m)
	if err != nil {
		return w, err
	}
	if a.To.LSN != "" {
		return w, hint.Usage(a.To.Text+" is a place in the WAL of PostgreSQL", "give a date with its zone, a GTID, or FILE:POSITION")
	}
	if !a.To.Time.IsZero() && a.To.Time.Before(b.began) {
		return w, hint.With(fmt.Errorf("%s is before the base", a.To.Text), "take an earlier backup (plumb backup list)")
	}
	log, err := find(ctx, s, b, a.Log)
	if a.Proof && err != nil && ctx.Err() == nil {
		return bare(b, err), nil
	}
	if err != nil {
		return w, err
	}
	to := a.To
	if to.Point() {
		to.Time = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	sv := serverOf(b)
	sv.Settings = map[string]string{"log_bin_basename": path.Join(shelfDir, "log"), "log_bin_index": shelfIndex}
	way, err := new(point.Engine).Way(ctx, log, sv, b.at, to)
	if err != nil {
		return w, err
	}
	if len(way.After) == 0 && !a.To.Point() {
		last := "nothing behind the base"
		if n := len(way.Before); n > 0 {
			last = "a commit of " + way.Before[n-1].Time.UTC().Format("2006-01-02 15:04:05 MST")
		}
		return w, hint.With(fmt.Errorf("the archive ends before %s: its last is %s", a.To.Text, last), "--to latest takes all that is there")
	}
	if way.Count == 0 && !a.To.Time.IsZero() && a.To.Time.Before(b.ended) { // nothing that was committed between says that it is later than the base
		return w, hint.With(fmt.Errorf("%s is before the base is whole", a.To.Text), "take an earlier backup (plumb backup list)")
	}
	w = moment.Way{Server: log.server, From: at(b.at.File, b.at.Offset), Last: at(way.Stop.File, way.Stop.Offset), Count: way.Count, Before: way.Before, After: way.After, Inner: inner{b, sv, log, way}}
	for _, name := range way.Files {
		for _, p := range log.files[path.Base(name)] {
			w.Files, w.Bytes = w.Files+1, w.Bytes+p.To-p.From
		}
	}
	return w, nil
}

func serverOf(b base) protect.Server {
	return protect.Server{Flavor: product.MariaDB, Product: "MariaDB " + b.version, Version: b.version}
}

// bare is the way of a base onto which nothing can be replayed.
func bare(b base, why error) moment.Way {
	from := at(b.at.File, b.at.Offset)
	return moment.Way{From: from, Last: from, Inner: inner{base: b, server: serverOf(b)}, Notes: []string{"nothing of the archive is replayed: " + why.Error()}}
}

// find gives the series that goes on where a base ends: the one of the base's time first.
func find(ctx context.Context, s archive.Shelf, b base, server string) (*shelfLog, error) {
	all, err := s.List(ctx, server)
	if err != nil {
		return nil, err
	}
	var logs []*shelfLog
	for _, series := range bySeries(all) {
		logs = append(logs, newShelfLog(s, series))
	}
	if len(logs) == 0 {
		return nil, errors.New("the archive has no binary log " + server)
	}
	if slices.ContainsFunc(logs, func(l *shelfLog) bool { return l.server != logs[0].server }) {
		return nil, hint.Usage("the archive has the binary logs of several servers, and none was named", "--log NAME; plumb archive list shows them")
	}
	// Ids are times: of those that had begun when the base ended the newest, and then the later ones.
	begun, _ := slices.BinarySearchFunc(logs, manifest.NewID(b.ended, "zzzz"), func(l *shelfLog, id string) int { return cmp.Compare(l.series, id) })
	slices.Reverse(logs[:begun])
	var why error
	for _, l := range logs {
		err := l.joins(ctx, b.at)
		if err == nil {
			return l, nil
		}
		if why == nil {
			why = err
		}
	}
	return nil, hint.With(fmt.Errorf("there is a hole: no log in the archive goes on at %s, where the base ends: %w", at(b.at.File, b.at.Offset), why),
		"from this backup nothing can be reached; take a later one (plumb archive list)")
}

var errJoins = errors.New("it goes on there")

// joins tells whether the series has the place at which a base ends, and whether that is the same log: the last
// GTIDs before it are the base's.
func (l *shelfLog) joins(ctx context.Context, from protect.Position) error {
	if l.files[from.File] == nil {
		return fmt.Errorf("%s is not in it", from.File)
	}
	seen := map[string]bool{}
	last := map[string]string{}
	note := func(gtid string) {
		of := gtid[:strings.LastIndexByte(gtid, '-')]
		delete(seen, last[of])
		last[of], seen[gtid] = gtid, true
	}
	end := int64(0)
	write := func(ctx context.Context, out io.Writer) error { return l.write(ctx, from.File, out) }
	err := archive.Through(ctx, write, func(r io.Reader) error {
		return binlog.Scan(r, func(e binlog.Event) error {
			if e.At >= from.Offset {
				return errJoins
			}
			end = e.End
			for _, gtid := range e.List() {
				if e.Type == binlog.GTIDList {
					note(gtid)
				}
			}
			if gtid, yes := e.Begins(); yes && strings.Contains(gtid, "-") {
				note(gtid)
			}
			return nil
		})
	})
	if err != nil && !errors.Is(err, errJoins) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return err
	}
	if end != from.Offset {
		return fmt.Errorf("nothing in %s ends at %d", from.File, from.Offset)
	}
	for gtid := range strings.SplitSeq(from.GTID, ",") {
		if gtid != "" && !seen[gtid] {
			return fmt.Errorf("in %s %s is not the last of its domain before %d: it is another log", from.File, gtid, from.Offset)
		}
	}
	return nil
}
