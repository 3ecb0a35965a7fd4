// Package archive has the commands that ship the logs of servers to a store as they are written.
package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/store"
	backupcli "plumb/internal/cli/backup"
	"plumb/internal/cli/shell"
	mysqlpitr "plumb/internal/engine/mysql/pitr"
	"plumb/internal/engine/postgres/pitr"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/host/reach"
	"plumb/internal/protect"
)

const exits = `Exit codes:
  0  done
  2  the command line is wrong
  3  refused, or failed: nothing was archived`

// Directory is where a service has its socket by default. Only root can put another one there.
const Directory = "/run/plumb-archive"

func socketOf(name string) string { return filepath.Join(Directory, name+".sock") }

type verbs struct{ *shell.Shell }

// Command makes plumb archive.
func Command(s *shell.Shell) *cobra.Command {
	v := &verbs{s}
	c := &cobra.Command{
		Use:   "archive",
		Short: "archive WAL and binary logs, for point-in-time recovery",
		Long: `Archive copies the write-ahead log of PostgreSQL and the binary log of MariaDB and
MySQL to the store that holds the backups. plumb restore --to MOMENT replays it
onto a base backup.

run is the service. PostgreSQL passes its WAL files to it with push, as its
archive_command. The service follows binary logs by itself.

plumb backup prune removes old parts with the base backups that needed them.`,
		Example: `  plumb archive run --to s3://backups/db1 --recipient age1… --wal-user postgres
  plumb archive list --from s3://backups/db1
  plumb archive status`,
		Args: v.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(v.run(), v.push(), v.status(), v.list())
	return c
}

// asked is what the command line says about the service.
type asked struct {
	backupcli.Place
	name, socket          string
	recipients            []string
	recipientsFile        string
	walUser               string
	index, logUser, logOf string
	every, within         time.Duration
	lockDays              int
	emit                  string
}

func (v *verbs) run() *cobra.Command {
	var o asked
	c := &cobra.Command{
		Use:   "run --to URL --recipient AGE (--wal-user USER | --binlog-index FILE)",
		Short: "run the service that archives",
		Long: `Run archives until it is stopped. With --wal-user it archives the files that a
PostgreSQL server of that user passes on; the settings of the server are

  archive_mode = on
  archive_command = 'plumb archive push %p'
  archive_timeout = 30s

where archive_timeout bounds what can be lost. With --binlog-index it reads the
binary log that the file lists, with the rights of --binlog-user, and archives
what was written every few seconds.

There is no spool: a file of PostgreSQL counts as archived when it is in the
store, and until then the server keeps it, counts the failure (pg_stat_archiver)
and tries again. Nothing in the archive is ever replaced.

--emit systemd prints a unit that runs the same command; its first line says where
it belongs.

` + exits,
		Example: `  plumb archive run --to s3://backups/db1 --recipient age1… --wal-user postgres
  plumb archive run --to s3://backups/db1 --recipient age1… --binlog-index /var/lib/mysql/binlog.index`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			if o.emit != "" {
				text, err := o.unit()
				if err != nil {
					return err
				}
				return v.Print(text)
			}
			return v.serve(c.Context(), o)
		},
	}
	o.ToFlags(c)
	fl := c.Flags()
	fl.StringArrayVar(&o.recipients, "recipient", nil, "encrypt the archive for this `RECIPIENT` (age1…); can be given several times")
	fl.StringVar(&o.recipientsFile, "recipients-file", "", "a `FILE` with recipients, one per line")
	fl.StringVar(&o.name, "name", "main", "`NAME` of this service, used for its socket and its status")
	fl.StringVar(&o.socket, "socket", "", "take files at this `SOCKET` instead of "+Directory+"/NAME.sock")
	fl.StringVar(&o.walUser, "wal-user", "", "take files of PostgreSQL from this `USER`")
	fl.StringVar(&o.index, "binlog-index", "", "follow the binary log that this `FILE` lists")
	fl.StringVar(&o.logUser, "binlog-user", "mysql", "read the binary log with the rights of this `USER`")
	fl.StringVar(&o.logOf, "binlog-name", "mysql", "the name of the binary log's server in the archive")
	fl.DurationVar(&o.every, "interval", 5*time.Second, "look for new events in the binary log this often")
	fl.DurationVar(&o.within, "timeout", time.Minute, "report a file to the server as failed if archiving takes longer")
	fl.IntVar(&o.lockDays, "lock-days", 0, "have the store lock every object for this many days, so that nobody can remove it")
	fl.StringVar(&o.emit, "emit", "", "print a unit that runs it as a service, and stop: systemd")
	c.MarkFlagsOneRequired("wal-user", "binlog-index")
	if err := fl.MarkHidden("json"); err != nil { // a service prints no answer
		panic(err)
	}
	shell.Offer(c, map[string]shell.Words{"emit": func() []string { return []string{"systemd"} }})
	return c
}

func (o *asked) check() error {
	if o.name == "" || strings.Trim(o.name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") != "" {
		return hint.Usage(fmt.Sprintf("%q is not a name for a service", o.name), "use letters, digits, - and _")
	}
	if o.index != "" && !filepath.IsAbs(o.index) {
		return hint.Usage(fmt.Sprintf("--binlog-index %s is not an absolute path", o.index), "SHOW VARIABLES LIKE 'log_bin_index' shows it")
	}
	if err := store.Check(o.logOf); o.index != "" && (err != nil || strings.Contains(o.logOf, "/")) {
		return hint.Usage(fmt.Sprintf("--binlog-name %q is not a valid name", o.logOf), "use letters, digits and . _ - =")
	}
	if o.every < time.Second || o.every > time.Hour || o.within < time.Second || o.within > time.Hour {
		return hint.Usage("--interval and --timeout are from 1s to 1h", "the usual: --interval 5s --timeout 1m")
	}
	if o.socket == "" {
		o.socket = socketOf(o.name)
	}
	_, err := backupcli.LockFor(o.lockDays)
	return err
}

// accounts is an error if a user does not exist. It is called before anything is written.
func (o asked) accounts() error {
	var err error
	if o.walUser != "" {
		_, _, err = backupcli.Account(o.walUser)
	}
	if err == nil && o.index != "" {
		_, _, err = backupcli.Account(o.logUser)
	}
	return err
}

// serve runs the service.
func (v *verbs) serve(ctx context.Context, o asked) (err error) {
	if err := o.accounts(); err != nil {
		return err
	}
	plain, end, err := o.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	d := shell.Machine()
	defer func() { err = errors.Join(err, d.Close()) }()
	at, err := o.Directory()
	if err != nil {
		return err
	}
	status := archive.StatusFile(at, o.name)
	unlock, err := d.Lock(ctx, status+".lock")
	if err != nil {
		return host.HeldBy(err, fmt.Sprintf("a service called %s runs already", o.name), "plumb archive status shows it; --name starts another")
	}
	defer unlock()
	if err := o.emptied(ctx, d, plain, at); err != nil {
		return err
	}
	if err := o.taken(ctx, d, plain, at, time.Now()); err != nil {
		return err
	}
	k, err := v.keeper(ctx, d, store.Patiently(plain, patience, 4, nil), o, at)
	if err != nil {
		return err
	}
	s := archive.Service{Keeper: k, Every: o.every, Within: o.within, Say: v.say, Board: &archive.Board{Do: d, File: status, Now: time.Now}}
	in, err := o.inlet()
	if err != nil {
		return err
	}
	follow, err := o.followers(d)
	if err != nil {
		return err
	}
	// One that is refused again and again does not live.
	if err := s.Board.Begin(ctx, archive.Status{Name: o.name, PID: os.Getpid(), To: plain.URL()}); err != nil {
		v.say(err.Error()) // the disk may be full of the log that is to leave it
	}
	v.say("archiving to " + plain.URL())
	return s.Run(ctx, in, follow)
}

// patience is short, as a server waits for the answer, and tries again by itself.
var patience = store.Patience{For: 20 * time.Second, First: 100 * time.Millisecond, Most: 2 * time.Second}

// keeper makes what keeps the pieces of logs.
func (v *verbs) keeper(ctx context.Context, d *host.LiveDoer, s store.Store, o asked, at string) (*archive.Keeper, error) {
	to, err := backupcli.Recipients(o.recipients, o.recipientsFile)
	if err != nil {
		return nil, err
	}
	locked, err := backupcli.LockFor(o.lockDays)
	if err == nil && locked > 0 {
		err = store.MayLock(ctx, s, locked)
	}
	if err != nil {
		return nil, err
	}
	name := shell.Hostname()
	sign, public, err := backup.HostKey(ctx, d, at, name)
	if err != nil {
		return nil, err
	}
	if err := (&backup.Backup{Do: d, Store: s, Dir: at, Host: name, Sign: sign, Public: public}).Claim(ctx); err != nil {
		return nil, err
	}
	own, err := backup.OwnKeys(ctx, d, at)
	if err != nil {
		return nil, err
	}
	still := func(ctx context.Context) error { return backup.Signs(ctx, d, at, sign) }
	return &archive.Keeper{Store: s, Sign: sign, Public: public, To: to, Host: name, Plumb: shell.Version(), Now: time.Now, Lock: locked, Still: still, Past: own[1:]}, nil
}

// inlet opens the socket for servers that hand over their logs; nil when there are none.
func (o asked) inlet() (*archive.Inlet, error) {
	if o.walUser == "" {
		return nil, nil
	}
	uid, _, err := backupcli.Account(o.walUser)
	if err != nil {
		return nil, err
	}
	in, err := reach.NewInlet(o.socket, uid)
	if err != nil {
		return nil, err
	}
	return &archive.Inlet{Inlet: in, UID: uid, Name: "write-ahead log", Gaps: new(pitr.Gaps), Accept: func(offer archive.Offer, head []byte) (archive.Piece, error) {
		err := pitr.Check(offer.File, offer.Size, offer.System, head)
		return archive.Piece{Server: pitr.Server(offer.System), Series: pitr.Series, File: offer.File, To: offer.Size}, err
	}}, nil
}

func (o asked) followers(d *host.LiveDoer) ([]archive.Follower, error) {
	if o.index == "" {
		return nil, nil
	}
	uid, gid, err := backupcli.Account(o.logUser)
	if err != nil {
		return nil, err
	}
	as := protect.Server{UID: uid, GID: gid}.As(d.About().Root)
	return []archive.Follower{&mysqlpitr.Follower{Do: d, Server: o.logOf, Index: o.index, As: as}}, nil
}

// say prints what happened, without the time, which the journal adds.
func (v *verbs) say(text string) {
	fmt.Fprintf(v.Err, "%s\n", shell.OneLine(text))
}
