package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/replicate"
)

const exits = `Exit codes:
  0  done
  2  the command line is wrong
  3  refused, or failed`

// verbs makes the commands, and holds what they need of the process.
type verbs struct {
	machine.Opener
	moments    Moments
	unattended func() // stops the watch for a run in which nothing moves; nil when there is none
}

// Commands makes the commands, the most used first.
func Commands(s *shell.Shell, a machine.Adapters, m Moments) []*cobra.Command {
	v := &verbs{Opener: machine.Opener{Shell: s, Adapters: a}, moments: m}
	return []*cobra.Command{v.backup(), v.restore(), v.verify()}
}

// asked is what the command line says about a backup.
type asked struct {
	place
	recipients     []string
	recipientsFile string
	command, name  string
	server         value.Server
	points         string
	full, low      bool
	rate           value.Size
	lockDays       int
}

func (v *verbs) backup() *cobra.Command {
	var o asked
	c := &cobra.Command{
		Use:   "backup [POINT | SERVER | --command LINE] --to URL",
		Short: "send a point, or the output of a command, to S3 or a directory",
		Long: `Backup sends the snapshots of a point on ZFS or btrfs, or the standard output of a
command, to a store: in objects of at most 16 MiB, each compressed with zstd and
encrypted with age for the recipients. A killed backup resumes where it was. The
manifest, which is signed with this host's key, is written last and read back;
without it there is no backup. So if the program that produces the data fails,
there is no backup.

A point is sent as an increment to the newest backup that this host can build on,
or completely with --full. SERVER stands for the newest point of that server.
Without either the newest of this host is sent, if all are of one server.

S3 credentials are read from where the AWS tools look: $AWS_ACCESS_KEY_ID and
$AWS_SECRET_ACCESS_KEY, ~/.aws/credentials, the instance role. The key that opens
backups (age-keygen) belongs on another machine: this one needs only its
recipient, age1….

` + exits + `: there is no backup, or not every place has it`,
		Example: `  plumb backup 20261123T2105 --to s3://backups/db1 --recipient age1…
  plumb backup mysql:3306 --to s3://backups/db1 --recipient age1…
  plumb backup --command 'mariadb-backup --backup --stream=mbstream' --to file:///mnt/nas/db1 --recipient age1…
  plumb backup key`,
		Args: func(c *cobra.Command, args []string) error { return o.check(c, args) },
		RunE: func(c *cobra.Command, args []string) error {
			return v.onAll(o.place, o.urls, func(d *host.LiveDoer, all []store.Store) error {
				return v.make(c.Context(), d, all, o, strings.Join(args, ""))
			})
		},
	}
	o.parallelFlag(c)
	o.flags(c, "to", "`URL` to back up to: s3://bucket/prefix or file:///directory; can be given several times; an S3 URL can end in ?endpoint=URL&region=NAME&profile=NAME")
	fl := c.Flags()
	fl.StringArrayVar(&o.recipients, "recipient", nil, "encrypt the backup for this `RECIPIENT` (age1…); can be given several times")
	fl.StringVar(&o.recipientsFile, "recipients-file", "", "a `FILE` with recipients, one per line")
	fl.StringVar(&o.command, "command", "", "back up the standard output of this shell `LINE`")
	fl.StringVar(&o.name, "name", "", "list the backup of --command under this `NAME`; default: its program")
	fl.Var(&o.server, "server", "the server whose data --command outputs, as plumb check names it: mysql:3306")
	fl.StringVar(&o.points, "points", protect.Directory, "where points are recorded")
	fl.BoolVar(&o.full, "full", false, "send a point completely, not as an increment to an earlier backup")
	fl.BoolVar(&o.low, "low", false, "use less memory: objects of 2 MiB, three at once")
	fl.Var(&o.rate, "limit-rate", "send at most this many bytes a second, such as 50M")
	fl.IntVar(&o.lockDays, "lock-days", 0, "have the store lock every object for this many days, so that nobody can remove it")
	c.AddCommand(v.list(), v.show(), v.copy(), v.sheet(), v.key(), upkeep.Prune(v.Shell, &from{v: v}, v.moments.Logs), upkeep.Hold(v.Shell, &from{v: v}))
	return c
}

// check is a usage error if flags have no effect on what is backed up.
func (o asked) check(c *cobra.Command, args []string) error {
	switch {
	case len(args) > 1:
		return hint.Usage(c.CommandPath()+" takes one POINT or SERVER at most", "plumb protect list shows them")
	case o.command != "" && len(args) > 0:
		return hint.Usage("a POINT or SERVER cannot be combined with --command", "give one of them")
	case o.command == "" && o.server != "":
		return hint.Usage("--server is for the output of a command: a point knows its server", "plumb backup "+string(o.server)+" sends the newest of its points")
	case o.command == "" && o.name != "":
		return hint.Usage("--name is for the output of a command: the streams of a point are named after its datasets", "leave it out")
	}
	return nil
}

// LockFor returns how long objects are locked for a number of days; 0 for not at all. It is a usage error if the number makes no sense.
func LockFor(days int) (time.Duration, error) {
	if days < 0 || days > 36500 {
		return 0, hint.Usage(fmt.Sprintf("--lock-days %d is out of range", days), "1 to 36500; without it nothing is locked")
	}
	return time.Duration(days) * 24 * time.Hour, nil
}

// make makes a backup.
func (v *verbs) make(ctx context.Context, d *host.LiveDoer, to []store.Store, o asked, point string) error {
	defer debug.SetGCPercent(debug.SetGCPercent(20)) // the heap is a few large buffers, which are cheap to collect: less garbage saves memory
	to, err := o.present(ctx, d, to)
	if err != nil {
		return err
	}
	b, err := v.ready(ctx, d, to, o)
	if err != nil {
		return err
	}
	job, err := o.job(ctx, d, v.tops(), b, point)
	if err != nil {
		return err
	}
	defer v.hold(ctx, d, o, job, to)()
	keys := v.near(ctx, d, o, b.Words)
	if o.command != "" {
		job.Sources[0].Watch = v.moments.Watch()
	}
	r, err := b.Run(ctx, job)
	v.wipe()
	if err != nil {
		return hint.With(err, cmp.Or(hint.Of(err), "there is no backup yet; the same command continues with what was not sent"))
	}
	own, err := backup.Vault{}.Own(ctx, d, b.Dir)
	if err != nil {
		return err
	}
	m := made{Result: r, by: b, to: to, keys: keys}
	for _, s := range to {
		if !slices.ContainsFunc(r.Lost, func(l backup.Lost) bool { return l.URL == s.URL() }) {
			own.Store = s
			m.have = append(m.have, own)
		}
	}
	return v.finish(ctx, d, o, m)
}

// ready makes the Backup from the flags.
func (v *verbs) ready(ctx context.Context, d *host.LiveDoer, to []store.Store, o asked) (b backup.Backup, err error) {
	if o.recipients, err = named(o.recipients, o.recipientsFile); err != nil {
		return b, err
	}
	at, err := backup.At(o.state)
	if err != nil {
		return b, err
	}
	b = backup.Backup{Do: d, Store: to[0], Also: to[1:], Dir: at, Words: o.recipients, Plumb: shell.Version(), Now: time.Now, Workers: o.parallel, Pace: &stream.Pace{PerSecond: int64(o.rate)}, Doing: v.doing(o.json), Warn: v.Warn}
	if b.Lock, err = LockFor(o.lockDays); err != nil {
		return b, err
	}
	if o.low {
		b.Chunk, b.Workers = 2<<20, min(3, o.parallel)
	}
	if b.To, err = backup.Recipients(o.recipients...); err != nil {
		return b, err
	}
	b.Host = shell.Hostname()
	b.Sign, b.Public, err = backup.HostKey(ctx, d, at, b.Host)
	return b, err
}

// job finds out what is backed up.
func (o asked) job(ctx context.Context, d *host.LiveDoer, tops backup.Tops, b backup.Backup, point string) (backup.Job, error) {
	if o.command != "" {
		name := cmp.Or(o.name, backup.NameOf(o.command))
		return backup.Job{Name: "command " + o.command, Server: string(o.server), Sources: []backup.Source{{Stream: manifest.Stream{Name: name, Kind: manifest.Command}, Argv: backup.Line(ctx, d, home(), o.command)}}}, nil
	}
	points := protect.Store{Dir: o.points, Guard: host.Guarded}
	p, err := o.find(ctx, d, points, point)
	if err != nil {
		return backup.Job{}, err
	}
	told, err := json.Marshal(replicate.Told(p))
	if err != nil {
		return backup.Job{}, err
	}
	all, err := o.vaults(ctx, d, b.Stores())
	if err != nil {
		return backup.Job{}, err
	}
	return backup.Point(ctx, d, tops, p, told, backup.Full{Asked: o.full, In: all, For: b.Words})
}

// tops returns the storage that knows where a btrfs filesystem is mounted.
func (v *verbs) tops() (t backup.Tops) {
	for _, s := range v.Storages("", "") {
		if top, is := s.(backup.Tops); is {
			t = top
		}
	}
	return t
}

// vaults opens the stores that answer. The others will not have this backup, which the run reports. It is an error if none answers.
func (o asked) vaults(ctx context.Context, d host.Doer, stores []store.Store) (all []backup.Vault, err error) {
	var away []error
	for _, s := range stores {
		v, err := o.vault(ctx, d, s)
		if err != nil {
			away = append(away, err)
			continue
		}
		all = append(all, v)
	}
	if len(all) == 0 {
		return nil, errors.Join(away...)
	}
	return all, nil
}

// ErrNoPoint says that there is no point of the server that is meant, or of any server of this host.
var ErrNoPoint = errors.New("there is no point to back up")

// find returns the point that of names by its ID, or the newest whole point of the server that of names. If of is "" all points must be of
// one server.
func (o asked) find(ctx context.Context, d host.Doer, points protect.Store, of string) (protect.Point, error) {
	if of != "" && value.KindOf(of) == "" {
		return points.Get(ctx, d, of)
	}
	all, err := points.List(ctx, d)
	if err != nil {
		return protect.Point{}, err
	}
	all = slices.DeleteFunc(all, func(p protect.Point) bool {
		return p.State != protect.Taken || of != "" && !value.Server(of).Means(p.Server.Ref)
	})
	switch {
	case len(all) == 0 && of != "":
		err = fmt.Errorf("%w of %s", ErrNoPoint, of)
	case len(all) == 0:
		err = ErrNoPoint
	case slices.ContainsFunc(all, func(p protect.Point) bool { return p.Server.Ref != all[0].Server.Ref }):
		return protect.Point{}, hint.With(errors.New("there are points of several servers"), "name a server to use its newest point, or name a point: plumb protect list shows them")
	default:
		return all[len(all)-1], nil
	}
	return protect.Point{}, hint.With(err, "on ZFS and btrfs plumb snapshot takes one; --command backs up what a command gives")
}

// trouble reports on standard error what is being tried again, but not too often.
func (v *verbs) trouble() func(error) {
	var one sync.Mutex // several objects are sent at the same time
	var last time.Time
	return func(err error) {
		one.Lock()
		defer one.Unlock()
		if time.Since(last) > 10*time.Second {
			last = time.Now()
			fmt.Fprintf(v.Err, "trying again: %s\n", shell.OneLine(err.Error()))
		}
	}
}
