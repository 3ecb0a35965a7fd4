package backup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/backup/prove"
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	view "plumb/internal/view/backup"
)

// Moments are the products whose bases can be brought to a moment.
type Moments struct {
	Engines []moment.Engine
	Watch   func() []backup.Watcher // what looks for bases in what a command gives
	Logs    upkeep.Logs             // of these products
}

// later is what the command line asks of a restore to a moment.
type later struct {
	to, directory, user string
	log                 string
	timeline            int
	replace, dryRun     bool
}

func (l *later) flags(c *cobra.Command) {
	fl := c.Flags()
	fl.StringVar(&l.directory, "dir", "", "unpack a base backup into this new `DIRECTORY`, and recover it to --to")
	fl.StringVar(&l.to, "to", "", "with --dir, or with --into for a point on ZFS: recover to this `MOMENT`: a date with its time zone, an LSN, a GTID, FILE:POSITION, latest, or base for the backup alone")
	fl.StringVar(&l.user, "user", "", "with --to: the `USER` that the server will run as, who will own its data")
	fl.StringVar(&l.log, "log", "", "`NAME` of the binary log in the archive, if it has those of several servers; NAME/SERIES uses that series, whatever its times say")
	fl.IntVar(&l.timeline, "timeline", 0, "follow this PostgreSQL timeline instead of the newest archived one")
	fl.BoolVar(&l.replace, "replace", false, "the server that was backed up is gone: keep its settings, and replace it")
	fl.BoolVar(&l.dryRun, "dry-run", false, "show what would be replayed, and do nothing")
}

// meant tells whether a restore to a moment is asked for.
func (l *later) meant() bool { return l.directory != "" || l.to != "" }

func (l *later) check(c *cobra.Command, t target) error {
	for _, name := range []string{"to", "user", "log", "timeline", "replace", "dry-run"} {
		switch {
		case !c.Flags().Changed(name) || l.directory != "":
		case t.into == "":
			return hint.Usage("--"+name+" is for a restore to a directory", "name it: --dir /srv/restored")
		case l.to == "":
			return hint.Usage("--"+name+" is for a restore to a moment", "--to latest replays all that is archived")
		}
	}
	if !l.meant() {
		return nil
	}
	if strings.HasPrefix(t.into, "/") {
		return hint.Usage("no log is replayed onto subvolumes of btrfs", "leave out --to; --dir is for a base backup")
	}
	if l.to == "" {
		return hint.Usage("no moment is given", "--to latest replays all that is archived; --to '2026-11-26 03:12:00 UTC'; --to base replays nothing")
	}
	if l.to == moment.Base && (l.log != "" || l.timeline != 0) {
		return hint.Usage("--to base replays no log, so --log and --timeline have no effect", "leave out --log and --timeline")
	}
	if l.timeline < 0 {
		return hint.Usage(fmt.Sprintf("--timeline %d is not a timeline", l.timeline), "they are numbered from 1")
	}
	return nil
}

// asked reads the moment.
func (l *later) asked() (moment.Asked, error) {
	a := moment.Asked{Log: l.log, Timeline: l.timeline, Replace: l.replace}
	err := a.Read(l.to, time.Now())
	return a, err
}

// owner gives the numbers of the user as whom the server will run.
func (l *later) owner() (uid, gid int, err error) {
	if os.Geteuid() != 0 {
		return os.Geteuid(), os.Getegid(), nil
	}
	if l.user == "" {
		return 0, 0, hint.Usage("the user that the server will run as is missing", "--user postgres, --user mysql")
	}
	uid, gid, err = Account(l.user)
	if err == nil && uid == 0 {
		err = hint.Usage("a server does not run as root", "--user postgres, --user mysql")
	}
	return uid, gid, err
}

// books is where what is made is written down.
func (p *place) books() (string, error) {
	at := shell.Place{}
	if p.state != "" {
		at.State = filepath.Join(p.state, "books")
	}
	return at.Books()
}

// moment brings a base to a moment, or a point if it is to be restored into a dataset.
func (v opened) moment(ctx context.Context, l later, into string) error {
	asked, err := l.asked()
	if err != nil {
		return err
	}
	uid, gid, err := l.owner()
	if err != nil {
		return err
	}
	v.vault.Only = v.moments.only(into != "")
	m, err := v.find(ctx)
	if err != nil {
		return err
	}
	if err := fitting(m, into); err != nil {
		return err
	}
	r := moment.Restore{Restore: v.restoring(v.follow(new(standing), v.o.json)), Do: v.do, Engines: v.moments.Engines}
	if r.Books, err = v.o.books(); err != nil {
		return err
	}
	began := time.Now()
	to := moment.Place{Dir: l.directory, UID: uid, GID: gid}
	run := func() (w moment.Way, at string, err error) {
		w, err = r.Run(ctx, m, to, asked)
		return w, l.directory, err
	}
	based, doubts := m, []string(nil)
	if into != "" {
		told, err := prove.Told(ctx, r.Restore, m)
		if err == nil {
			based, err = r.Based(m, told)
		}
		if err != nil {
			return err
		}
		to.Dir, doubts = into, prove.Doubts(told)
		run = func() (moment.Way, string, error) { return r.Onto(ctx, m, told, to, asked) }
	}
	if l.dryRun {
		run = func() (moment.Way, string, error) {
			w, _, err := r.Plan(ctx, based, asked)
			return w, "", err
		}
	}
	w, at, err := run()
	v.wipe()
	if err != nil {
		return err
	}
	took := time.Since(began)
	w.Notes = append(w.Notes, doubts...)
	return v.Answer(v.o.json, view.MomentDocument(m, w, at, took), view.Moment(m, w, asked.To.Text, at, took, shell.Screen(v.Out)))
}

// only are the backups that can be brought to a moment: points, or bases.
func (ms Moments) only(points bool) *backup.Only {
	o := &backup.Only{What: "base backup", Help: "what pg_basebackup or mariadb-backup gives to plumb backup --command is one, uncompressed; other backups are restored with --into, --output or --command"}
	if points {
		o.What, o.Help = "backup of a point onto which log can be replayed", "one of a server on ZFS is, if that is MariaDB or MySQL with its binary log, or PostgreSQL, a primary and in mode crash or freeze; --dir brings a base backup to a moment"
	}
	o.Is = func(m manifest.Manifest) bool {
		return points == (m.Point != "") && slices.ContainsFunc(ms.Engines, func(e moment.Engine) bool { return e.Knows(m) })
	}
	return o
}

// fitting refuses a backup that somebody named, if it cannot be restored to where he said.
func fitting(m manifest.Manifest, into string) error {
	switch {
	case into != "" && m.Point == "":
		return hint.With(fmt.Errorf("backup %s is not of a point", m.ID), "a base backup is restored to a directory: --dir DIR instead of --into")
	case into == "" && m.Point != "":
		return hint.With(fmt.Errorf("backup %s is of a point, and no base backup", m.ID), "it is restored to a dataset: --into DATASET instead of --dir")
	}
	return nil
}
