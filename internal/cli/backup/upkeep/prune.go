// Package upkeep has the commands that look after backups: prune, hold, and what monitoring reads.
package upkeep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/archive"
	"plumb/internal/backup"
	"plumb/internal/backup/prune"
	"plumb/internal/backup/store"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect/keep"
	"plumb/internal/units"
	view "plumb/internal/view/backup"
)

// Place holds the flags that say where backups are kept.
type Place interface {
	Flags(c *cobra.Command)
	JSON() bool
	// Directory returns the directory of this host's key.
	Directory() (string, error)
	// On calls a command with this machine and the store, and closes both.
	On(do func(d *host.LiveDoer, s store.Store) error) error
	Vault(ctx context.Context, d host.Doer, s store.Store) (backup.Vault, error)
}

// Logs lists the products whose archived logs are pruned with the backups.
type Logs []archive.Product

// pruning is what the command line says about a prune.
type pruning struct {
	*shell.Shell
	Place
	prune.Options
	logs        Logs
	keep, back  string
	grace       time.Duration
	dryRun, yes bool
}

// Prune makes the command plumb backup prune.
func Prune(sh *shell.Shell, p Place, logs Logs) *cobra.Command {
	o := pruning{Shell: sh, Place: p, logs: logs}
	c := &cobra.Command{
		Use:   "prune [ID…] --from URL [--keep RULES]",
		Short: "remove the backups that no rule keeps, and what killed runs left",
		Long: `Prune shows what happens to each backup and why, asks, and removes those that no
rule keeps, or those with the given IDs. RULES say what stays, separated by commas:
  last=3      the newest three
  24h 7d 4w   one for each of the last 24 hours, 7 days, 4 weeks; also 12m and 2y
  verified=2  the newest two on which a server was started (plumb verify --restore)
What a backup that stays needs stays with it.

A backup is removed in two steps: it is marked, and a prune after the grace period
removes its objects. Until then --undo ID brings it back, and so does a backup
that builds on it. The objects of a killed run are removed when nothing was heard of
it for as long. All ages are by the store's clock.

Logs that plumb archive keeps are pruned, in the same two steps, up to the place
where the first base backup that stays begins: nothing can need them. If a server
has no base backup here, all of its log stays. A point on ZFS counts as a base
backup.

Nothing at all is removed if a manifest cannot be read or is not trusted, because it
may need any of the others, if clocks jumped, or if another machine with this
host's key made some of the backups (--adopt). Nothing of a server is removed if
more than a quarter would be (--all-right N allows exactly N), or if the last proven
backup would be; the last backup is never removed, and by RULES neither is the
newest base backup. What the store keeps locked stays until the lock ends. The store
must honour If-Match and If-None-Match.

Exit codes:
  0  done, or there was nothing to do
  1  a safety stop held, or something that was to go is still there
  2  the command line is wrong
  3  refused, or failed: the same command continues`,
		Example: `  plumb backup prune --from s3://backups/db1 --keep last=3,7d,4w,12m,verified=1 --dry-run
  plumb backup prune --from s3://backups/db1 --keep last=3,7d,4w,12m,verified=1 --yes
  plumb backup prune --from s3://backups/db1 --undo 20261125T122347Z-083cbfe6`,
		Args: func(_ *cobra.Command, args []string) error { return o.check(args) },
		RunE: func(c *cobra.Command, args []string) (err error) {
			o.Names = args
			if o.keep != "" {
				if o.Rules, err = keep.Parse(o.keep); err != nil {
					return hint.Usage("--"+err.Error(), hint.Of(err))
				}
			}
			return o.On(func(d *host.LiveDoer, s store.Store) error { return o.run(c.Context(), d, s) })
		},
	}
	o.Flags(c)
	fl := c.Flags()
	fl.StringVar(&o.keep, "keep", "", "keep what these `RULES` name, such as last=3,7d,4w,12m,verified=1")
	fl.StringVar(&o.back, "undo", "", "bring back the pruned backup with this `ID`, if its objects are still there")
	fl.StringVar(&o.Server, "server", "", "only backups of this server, as plumb backup list names it: mysql:3306")
	fl.DurationVar(&o.grace, "grace", prune.DefaultGrace, "`TIME` in which pruned backups and killed runs can still come back, at least 24h")
	fl.IntVar(&o.AllRight, "all-right", 0, "allow exactly `N` backups of each server to be removed, even if that is more than a quarter")
	fl.BoolVar(&o.ShortLock, "short-lock", false, "accept that the store locks objects for less time than the rules keep them")
	fl.BoolVar(&o.Adopt, "adopt", false, "take for this host's own, from now on, what its key signed and another machine made")
	fl.BoolVar(&o.dryRun, "dry-run", false, "show what would go and why, and write nothing")
	shell.OnlyWith(c, "adopt", "keep")
	shell.YesFlag(c, &o.yes)
	return c
}

// check is a usage error if the flags make no sense.
func (o *pruning) check(args []string) error {
	given := 0
	for _, is := range []bool{len(args) > 0, o.keep != "", o.back != ""} {
		if is {
			given++
		}
	}
	if given != 1 {
		return hint.Usage("say what to remove in exactly one way", "give one of --keep RULES, IDs and --undo ID; in RULES "+keep.Help)
	}
	if o.back != "" {
		if err := noJSON(o.Place, "--undo"); err != nil {
			return err
		}
	}
	if o.grace < prune.LeastGrace {
		return hint.Usage(fmt.Sprintf("--grace %s is too short: a backup that is being made could lose what it counts on", units.Span(o.grace)), "24h is the least")
	}
	return nil
}

// pruner makes what prunes backups. A dry run does not make a key for this host.
func (o pruning) pruner(ctx context.Context, d *host.LiveDoer, s store.Store) (p prune.Pruner, err error) {
	at, err := o.Directory()
	if err != nil {
		return p, err
	}
	p = prune.Pruner{Grace: o.grace, Host: shell.Hostname(), Now: time.Now, Doing: o.going(), Products: o.logs, Do: d, Dir: at}
	if !o.dryRun {
		if p.Sign, _, err = backup.HostKey(ctx, d, at, p.Host); err != nil {
			return p, err
		}
	}
	if p.Own, err = backup.OwnKeys(ctx, d, at); err != nil && !errors.Is(err, fs.ErrNotExist) { // without a key no backup is ours
		return p, err
	}
	p.Vault, err = o.Place.Vault(ctx, d, s)
	return p, err
}

func (o pruning) run(ctx context.Context, d *host.LiveDoer, s store.Store) error {
	p, err := o.pruner(ctx, d, s)
	if err != nil {
		return err
	}
	if o.back != "" {
		if err := p.TakeBack(ctx, o.back); err != nil {
			return err
		}
		return o.Print("Backup " + shell.OneLine(o.back) + " is there again.\n")
	}
	plan, err := p.Plan(ctx, o.Options)
	if err != nil {
		return err
	}
	if plan.Empty() { // most often the wrong place was named
		return p.None(o.Server)
	}
	if !o.JSON() || o.dryRun {
		if err := o.Answer(o.JSON(), view.PruneDocument(s.URL(), plan, o.Rules, nil), view.Plan(s.URL(), plan, shell.Screen(o.Out))); err != nil {
			return err
		}
	}
	if o.dryRun {
		return marked(plan.Stopped())
	}
	if what := going(plan); what != "" {
		if err := o.Ask("Remove what goes ("+what+")?", o.yes); err != nil {
			return err
		}
	}
	if o.Adopt {
		if err := backup.Adopt(ctx, d, p.Dir, plan.Twins); err != nil {
			return err
		}
	}
	done, err := p.Carry(ctx, plan, o.Options)
	o.Done()
	if err != nil && done.Plan.At.IsZero() {
		return err // nothing was done
	}
	err = errors.Join(err, o.Answer(o.JSON(), view.PruneDocument(s.URL(), done.Plan, o.Rules, &done), view.Pruned(done, shell.Screen(o.Out))))
	if err == nil {
		err = marked(done.Plan.Stopped() || len(done.Left) > 0)
	}
	return err
}

// going says how much goes by a plan; "" for nothing.
func going(plan prune.Plan) string {
	var words []string
	if n := len(plan.Going()); n > 0 {
		words = append(words, units.Count(n, "backup"))
	}
	if now, then := plan.Pieces(); now+then > 0 {
		words = append(words, units.Count(now+then, "piece")+" of logs")
	}
	return strings.Join(words, ", ")
}

func marked(is bool) error {
	if is {
		return shell.ErrMarked
	}
	return nil
}

// going shows on a terminal how much has been removed, in one line.
func (o pruning) going() func(objects, bytes int64) {
	if o.JSON() || !shell.IsTerminal(o.Err) {
		return nil
	}
	var last time.Time
	return func(objects, bytes int64) {
		if time.Since(last) < 200*time.Millisecond {
			return
		}
		last = time.Now()
		shell.Rewrite(o.Err, fmt.Sprintf("removed %s, %s", units.Count(int(objects), "object"), units.Measured(float64(bytes))))
	}
}
