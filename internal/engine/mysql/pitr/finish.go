package pitr

import (
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
	"plumb/internal/await"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/engine/mysql/client"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/load"
	"plumb/internal/product"
	"plumb/internal/protect"
)

// Unpack implements moment.Engine.
func (Engine) Unpack(dir string) []string { return []string{"mbstream", "-x", "-C", dir} }

// Ready implements moment.Engine: the base is unpacked and prepared by programs of mariadb-backup, and the log is replayed by a server
// of its release.
func (Engine) Ready(ctx context.Context, d host.Launcher, m manifest.Manifest, a moment.At) error {
	b, err := baseOf(m)
	if err != nil {
		return nil // of which the plan tells
	}
	r := newReplaying(ctx, d, inner{base: b, server: b.server}, a)
	if b.point {
		return r.program()
	}
	return steps(r.fits, r.program, r.tools)
}

// steps does one after the other, until one fails.
func steps(all ...func() error) error {
	for _, step := range all {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// Finish implements moment.Engine: the base is prepared, and a server that nobody else reaches replays the log.
func (Engine) Finish(ctx context.Context, d host.Launcher, _ archive.Shelf, w *moment.Way, a moment.At) error {
	in, ok := w.Inner.(inner)
	if !ok {
		return errors.New("it was planned by another")
	}
	r := newReplaying(ctx, d, in, a)
	all := []func() error{r.fits, r.program, r.options, r.rooms, r.prepare, r.fetch, r.replay}
	if len(in.way.Files) == 0 && (a.Proof || a.Alone) {
		all = all[:5]
	}
	if err := steps(all...); err != nil {
		return err
	}
	w.Next = r.next("none of its replication")
	return nil
}

// next is what is left to do for a person.
func (r *replaying) next(follows string) []string {
	all := []string{"start a server of " + r.in.base.server.Product + " on " + r.a.Dir + ": it has the accounts and events of the one that was backed up, and " + follows}
	if gtid := r.in.way.Stop.GTID; gtid != "" && r.in.base.server.Flavor == product.MariaDB {
		all = append(all, "it is at GTID "+gtid+"; for a replica that continues from there: SET GLOBAL gtid_slave_pos = '"+gtid+"'")
	}
	return all
}

// replaying is a base that is brought forward.
type replaying struct {
	ctx      context.Context
	d        host.Launcher
	in       inner
	a        moment.At
	run, log string         // directories of the server's, and for the log
	server   protect.Server // that replays
}

func newReplaying(ctx context.Context, d host.Launcher, in inner, a moment.At) *replaying {
	return &replaying{ctx: ctx, d: d, in: in, a: a, run: path.Join(a.Aside, "run"), log: path.Join(a.Aside, "log")}
}

func (r *replaying) socket() string { return path.Join(r.run, "mysqld.sock") }

func (r *replaying) fits() error {
	if err := lab.SocketFits(r.socket()); err != nil {
		return hint.With(err, "restore to a directory with a shorter name")
	}
	return nil
}

// program finds a server of the base's release: in PATH, where one that was only unpacked can be, or where packages put it.
func (r *replaying) program() error {
	e := new(point.Engine)
	found, err := r.d.Run(r.ctx, "sh", "-c", "for name in mariadbd mysqld; do command -v $name; done; :")
	if err != nil {
		return err
	}
	var seen, why []string
	for _, name := range append(strings.Split(string(found), "\n"), e.Programs()...) {
		if _, err := r.d.Stat(r.ctx, name); !path.IsAbs(name) || err != nil || slices.Contains(seen, name) {
			continue
		}
		seen = append(seen, name)
		out, err := r.d.Run(r.ctx, name, "--version")
		if err == nil {
			r.server, err = e.Resettle(r.in.server, name, string(out))
		}
		if err == nil {
			return nil
		}
		why = append(why, name+": "+err.Error())
	}
	err = fmt.Errorf("there is no server of the release of %s here", r.in.base.server.Product)
	if why != nil {
		err = fmt.Errorf("%w: %s", err, strings.Join(why, "; "))
	}
	return hint.With(err, "install that release, or unpack it and have its mysqld or mariadbd in PATH: the log is replayed by it")
}

// tools sees that the programs are here that unpack and prepare a base.
func (r *replaying) tools() error {
	for _, name := range []string{"mbstream", "mariadb-backup"} {
		if _, err := r.d.Run(r.ctx, name, "--version"); errors.Is(err, host.ErrNoCommand) {
			return hint.With(fmt.Errorf("%s is not installed, and a base backup of MariaDB cannot be restored without it", name), "install the package mariadb-backup")
		}
	}
	return nil
}

func (r *replaying) rooms() error {
	for _, dir := range []string{r.run, path.Join(r.run, "tmp"), r.log} {
		if err := r.a.Room(r.ctx, r.d, dir); err != nil {
			return err
		}
	}
	return nil
}

// prepare makes files of one moment of what was copied in the course of time.
func (r *replaying) prepare() error {
	return r.a.Sh(r.ctx, r.d, nil, nil, `exec mariadb-backup --prepare --target-dir="$1"`, r.a.Data)
}

// fetch brings the log.
func (r *replaying) fetch() error {
	for i, name := range r.in.way.Files {
		file := path.Base(name)
		write := func(ctx context.Context, out io.Writer) error {
			if most, cut := r.in.way.Cut[file]; cut {
				out = &upTo{out, most}
			}
			return r.in.log.write(ctx, file, out)
		}
		if err := r.a.Pour(r.ctx, r.d, write, `set -C; cat > "$1"`, path.Join(r.log, file)); err != nil {
			return err
		}
		r.in.way.Files[i] = path.Join(r.log, file)
	}
	r.in.way.Cut = nil // they are
	return nil
}

// replay has a server replay the log, and proves that it stands at its end.
func (r *replaying) replay() error {
	argv := []string{r.server.Program[0], "--defaults-file=" + path.Join(r.a.Data, optionFile), "--datadir=" + r.a.Data, "--socket=" + r.socket(), "--pid-file=" + path.Join(r.run, "pid"),
		"--log-error=" + path.Join(r.run, "error.log"), "--tmpdir=" + path.Join(r.run, "tmp"), "--skip-networking", "--skip-grant-tables", "--skip-slave-start", "--event-scheduler=DISABLED", "--skip-symbolic-links", // or a DATA DIRECTORY in the log leads out of the restored data
		"--log-bin=" + path.Join(r.run, "replay"), "--log-bin-index=" + path.Join(r.run, "replay.index"), "--server-id=" + strconv.Itoa(serverNumber), "--innodb-buffer-pool-size=256M", "--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"}
	return r.serve(host.Process{Argv: argv, Dir: r.run, UID: r.a.UID, GID: r.a.GID, Log: path.Join(r.run, "out.log")}, r.played)
}

// serve has something done with a server, and stops it.
func (r *replaying) serve(with host.Process, do func(load.Admin) error) error {
	p, end, err := r.a.Start(r.ctx, with)
	if err != nil {
		return err
	}
	admin, err := r.answer(p)
	if err == nil {
		err = errors.Join(do(admin), admin.Close())
	}
	if err == nil {
		err = ended(r.ctx, p)
	}
	if err != nil {
		err = fmt.Errorf("%w%s", err, r.tail())
	}
	return errors.Join(err, end(context.WithoutCancel(r.ctx)))
}

// serverNumber is hardly that of another server, which are small.
const serverNumber = 1<<31 - 31

func (r *replaying) played(admin load.Admin) (err error) {
	if gtid := r.in.base.at.GTID; gtid != "" { // from which it goes on counting
		err = admin.Exec(r.ctx, "SET GLOBAL gtid_binlog_state = '"+gtid+"'")
	}
	if err == nil {
		sv := r.server
		sv.UID, sv.GID = r.a.UID, r.a.GID
		err = point.Play(r.ctx, r.d, admin, protect.Copy{Server: sv, Run: r.run, Closed: true, Purpose: protect.ForReplay}, r.in.way)
	}
	return err
}

const (
	upTime   = time.Hour
	downTime = 10 * time.Minute
)

// answer waits until the server lets us in. Everybody is let in, whose socket is in a directory that only the server's
// user and root reach.
func (r *replaying) answer(p host.Running) (a load.Admin, err error) {
	err = await.Answer(r.ctx, p, upTime, func(ctx context.Context) (err error) {
		a, err = client.New(load.Login{Network: "unix", Address: r.socket(), User: "root", PeerUID: r.a.UID, Timeout: 5 * time.Second}).Admin(ctx)
		if err != nil {
			return err
		}
		if _, err = a.Query(ctx, "SELECT 1"); err != nil {
			_ = a.Close() // err says more
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("start the server that replays the log: %w", err)
	}
	return a, nil
}

// ended ends the server in an orderly way.
func ended(ctx context.Context, p host.Running) error {
	if err := await.End(ctx, p, downTime, func() error { return p.Signal(host.Terminate) }); err != nil {
		return fmt.Errorf("stop the server that replayed the log: %w", err)
	}
	return p.Err()
}

const logTail = 1500 // bytes of its log in an error

func (r *replaying) tail() string {
	text, err := r.d.ReadFile(host.AsUser(r.ctx, r.a.UID, r.a.GID), path.Join(r.run, "error.log"))
	if err != nil {
		return ""
	}
	return "\n" + string(text[max(0, len(text)-logTail):])
}
