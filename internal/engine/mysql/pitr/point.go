package pitr

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/replay"
)

var _ moment.PointEngine = Engine{}

// Based implements moment.PointEngine. Where a point stands exactly its server tells once it has recovered; what was noted when it was
// taken is the place itself if a lock was held, or else a place before it.
func (Engine) Based(m manifest.Manifest, told protect.Point) (manifest.Manifest, error) {
	err := point.Exact(told)
	if err == nil {
		err = point.Startable(told.Server)
	}
	if i := slices.IndexFunc(told.Server.Dirs, func(d protect.Dir) bool { return d.Link != "" }); err == nil && i >= 0 {
		err = hint.With(fmt.Errorf("its database %s is a link, which would lead elsewhere", told.Server.Dirs[i].Link), "without --to it is restored as it is")
	}
	if err != nil {
		return m, fmt.Errorf("point %s: %w", told.ID, err)
	}
	m.Facts = maps.Clone(m.Facts)
	maps.Copy(m.Facts, map[string]string{factFlavor: told.Server.Flavor, factProduct: told.Server.Product, factRelease: told.Server.Version,
		factPointFile: told.Position.File, factPointAt: strconv.FormatInt(told.Position.Offset, 10), factPointGTID: told.Position.GTID})
	if !point.Locked(told) {
		m.Facts[factApart] = "true"
	}
	m.Began, m.Ended = told.Times.Began, told.Times.Until()
	return m, nil
}

// Onto implements moment.PointEngine: a server that nobody else reaches recovers the point, and replays the log from where it stands then.
func (Engine) Onto(ctx context.Context, d host.Launcher, s archive.Shelf, w *moment.Way, told protect.Point, a moment.At) error {
	in, ok := w.Inner.(inner)
	if !ok {
		return errors.New("it was planned by another")
	}
	in.server = told.Server
	l := &landed{replaying: newReplaying(ctx, d, in, a), shelf: s, way: w, told: told}
	if err := steps(l.fits, l.program, l.rooms, l.neutral, l.recovered, l.part); err != nil {
		return err
	}
	follows := "none of its replication"
	if a.Replace {
		follows = "follows whom that followed"
	}
	w.Next = append(l.next(follows), l.apart()...)
	return nil
}

// landed is a point that was restored below a root.
type landed struct {
	*replaying
	engine point.Engine
	shelf  archive.Shelf
	way    *moment.Way
	told   protect.Point
	copied protect.Copy
	no     error // why it is not brought to the moment, though its server runs
}

// neutral makes the restored files those of a copy, which recovers by the binary log that is in them.
func (l *landed) neutral() error {
	sv := l.server
	sv.UID, sv.GID = l.a.UID, l.a.GID
	l.copied = protect.Copy{Server: sv, Position: l.told.Position, Purpose: protect.ForReplay, Root: l.a.Root, Run: l.run, Closed: true, Memory: 256 << 20, Number: serverNumber}
	return l.engine.Neutralise(l.ctx, l.d, l.copied)
}

// recovered has a server recover the point, and replay the log.
func (l *landed) recovered() error {
	with, _, _, err := l.engine.Serve(l.copied)
	if err != nil {
		return err
	}
	with.Argv = append(with.Argv, "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2") // if the machine dies all is taken back
	err = l.serve(with, func(admin load.Admin) error {
		if l.no = l.stands(admin); l.no != nil {
			return nil
		}
		if !l.a.Alone {
			if err := steps(l.fetch, func() error { return l.engine.Replay(l.ctx, l.d, admin, l.copied, l.in.way) }); err != nil {
				return err
			}
		}
		if l.a.Replace {
			return nil
		}
		return l.engine.Unfollow(l.ctx, admin, l.copied.Server)
	})
	return errors.Join(l.no, err)
}

// stands asks the server where it stands, and plans the way from there.
func (l *landed) stands(admin load.Admin) error {
	is, err := l.engine.Stands(l.ctx, l.d, admin, l.copied)
	locked := point.Locked(l.told)
	if err == nil {
		err = l.engine.Decided(l.ctx, admin, l.copied, locked)
	}
	if err == nil {
		err = reaches(is, l.in.base, locked)
	}
	if err != nil {
		return fmt.Errorf("look at the restored point: %w", err)
	}
	b := l.in.base
	b.at, b.apart = protect.Position{File: is.File, Offset: is.Offset, GTID: is.GTID}, false
	switch {
	case l.a.Alone:
		l.in.base, l.in.way.Stop = b, b.at
		from := at(b.at.File, b.at.Offset)
		l.way.From, l.way.Last = from, from
		return nil
	case b.at != l.in.base.at || l.in.base.apart:
		id := l.way.Base
		if *l.way, err = plan(l.ctx, l.shelf, b, l.a.Asked); err != nil {
			return err
		}
		l.way.Base = id
		l.in = l.way.Inner.(inner)
	}
	return backup.Fits(l.ctx, l.d, l.a.Aside, l.way.Room)
}

// reaches refuses a point whose log ends elsewhere than where its server stood under the lock, or before where it had come without one.
func reaches(is protect.Position, b base, locked bool) error {
	switch {
	case is.File == "":
		return hint.With(errors.New("it has no binary log of its server"), "without --to it is restored as it is")
	case strings.Contains(is.GTID, fmt.Sprintf("-%d-", serverNumber)): // MariaDB writes to its new log what it finishes (sql/ddl_log.cc)
		return hint.With(errors.New("its recovery finished a statement, such as DROP TABLE, which the log behind it has too"), "restore another point, or this one without --to")
	case locked && (is.File != b.at.File || is.Offset != b.at.Offset), before(replay.Target{File: is.File, Offset: is.Offset}, b):
		return hint.With(fmt.Errorf("its binary log ends at %s, and the server stood at %s when it was taken", at(is.File, is.Offset), at(b.at.File, b.at.Offset)), "it is damaged, or lacks files: restore another point")
	}
	return nil
}

// part makes another server of what was stopped, unless it takes the place of the one that was backed up. Its binary log, which is in the
// archive, would be gone on with where that one has gone on.
func (l *landed) part() error {
	if !l.a.Replace {
		if err := l.engine.Part(l.ctx, l.d, l.copied); err != nil {
			return err
		}
	}
	return l.engine.Purge(l.ctx, l.d, l.copied)
}

// apart says where that is which the server had outside of its data directory.
func (l *landed) apart() []string {
	var dirs []string
	data := l.told.Server.Dir("data")
	for _, dir := range l.told.Server.Dirs {
		if !strings.HasPrefix(dir.Path+"/", data+"/") && !slices.Contains(dirs, dir.Path) {
			dirs = append(dirs, dir.Path)
		}
	}
	if len(dirs) == 0 {
		return nil
	}
	return []string{"its configuration must say that " + strings.Join(dirs, " and ") + " are below " + path.Clean(l.a.Root) + ", unless the datasets get the mountpoints that they had"}
}
