package backup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/mod/sumdb/note"

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

// pruning is what the command line asks of a prune.
type pruning struct {
	place
	prune.Options
	keep, back  string
	grace       time.Duration
	dryRun, yes bool
}

func (v *verbs) prune() *cobra.Command {
	var o pruning
	c := &cobra.Command{
		Use:   "prune [ID…] --from URL [--keep RULES]",
		Short: "remove the backups that no rule keeps, and what killed runs left",
		Long: `Prune shows what becomes of each backup and why, asks, and removes those that no
rule keeps, or those of the IDs. RULES are what stays, with commas between them:
  last=3      the newest three
  24h 7d 4w   one for each of the last 24 hours, 7 days, 4 weeks; 12m and 2y too
  verified=2  the newest two on which a server was started (plumb verify --restore)
What a backup that stays needs stays with it.

A backup is removed in two steps: it is marked, and a prune after the grace removes
its objects. Until then --take-back ID brings it back, and so does a backup that
builds on it. Of what was killed and never ended the objects go when nothing was
heard of it for as long. All ages are by the store's clock.

Nothing at all goes when a manifest cannot be read or is not believed, for it may
need anything, or when clocks jumped. Nothing of a server goes when more than a
quarter would (--all-right N allows exactly N), or when the last proven backup
would; the last backup never goes. What the store keeps locked stays until it may go.
The store must keep the conditions If-Match and If-None-Match.

Exit codes:
  0  done, or there was nothing to do
  1  a brake held, or something that was to go is still there
  2  the command line is wrong
  3  refused, or failed: the same command goes on`,
		Example: `  plumb backup prune --from s3://backups/db1 --keep last=3,7d,4w,12m,verified=1 --dry-run
  plumb backup prune --from s3://backups/db1 --keep last=3,7d,4w,12m,verified=1 --yes
  plumb backup prune --from s3://backups/db1 --take-back 20261125T122347Z-083cbfe6`,
		Args: func(c *cobra.Command, args []string) error {
			given := 0
			for _, is := range []bool{len(args) > 0, o.keep != "", o.back != ""} {
				if is {
					given++
				}
			}
			if given != 1 {
				return hint.Usage("nothing says what goes, or two things do", "give one of --keep RULES, IDs and --take-back ID; in RULES "+keep.Help)
			}
			if o.grace < prune.LeastGrace {
				return hint.Usage(fmt.Sprintf("--grace %s is too short: a backup that is being made could lose what it counts on", units.Span(o.grace)), "24h is the least")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) (err error) {
			o.Names = args
			if o.keep != "" {
				if o.Rules, err = keep.Parse(o.keep); err != nil {
					return hint.Usage("--keep: "+err.Error(), hint.Of(err))
				}
			}
			return v.on(o.place, func(d *host.LiveDoer, s store.Store) error { return v.runPrune(c.Context(), d, s, o) })
		},
	}
	o.flags(c, "from")
	o.trustFlag(c)
	fl := c.Flags()
	fl.StringVar(&o.keep, "keep", "", "what stays, as `RULES`: last=3,7d,4w,12m,verified=1")
	fl.StringVar(&o.back, "take-back", "", "bring back the backup of this `ID`, which was pruned and whose objects are still there")
	fl.StringVar(&o.Server, "server", "", "of the backups only those of this server: mariadb:3306")
	fl.DurationVar(&o.grace, "grace", prune.DefaultGrace, "how long what was pruned, or was killed, can come back: `TIME`, 24h at least")
	fl.IntVar(&o.AllRight, "all-right", 0, "of each server exactly `N` backups may go, even if that is more than a quarter")
	fl.BoolVar(&o.ShortLock, "short-lock", false, "it is meant so that the store locks objects for less time than the rules keep them")
	fl.BoolVar(&o.dryRun, "dry-run", false, "show what would go and why, and write nothing")
	fl.BoolVar(&o.yes, "yes", false, "do not ask")
	return c
}

// pruner makes all that backups are pruned with. A dry run makes no key for this host.
func (v *verbs) pruner(ctx context.Context, d *host.LiveDoer, s store.Store, o pruning) (p prune.Pruner, err error) {
	at, err := o.directory()
	if err != nil {
		return p, err
	}
	p = prune.Pruner{Grace: o.grace, Now: time.Now, Doing: v.going(o.json)}
	if p.Host, err = os.Hostname(); err != nil {
		p.Host = "unknown"
	}
	if o.dryRun {
		p.Own, _ = backup.OwnKey(ctx, d, at) // without one nothing is ours
	} else {
		var public string
		if p.Sign, public, err = backup.HostKey(ctx, d, at, p.Host); err == nil {
			p.Own, err = note.NewVerifier(public)
		}
		if err != nil {
			return p, err
		}
	}
	p.Vault, err = o.vault(ctx, d, s)
	return p, err
}

func (v *verbs) runPrune(ctx context.Context, d *host.LiveDoer, s store.Store, o pruning) error {
	p, err := v.pruner(ctx, d, s, o)
	if err != nil {
		return err
	}
	if o.back != "" {
		if err := p.TakeBack(ctx, o.back); err != nil {
			return err
		}
		return v.Print("Backup " + shell.OneLine(o.back) + " is there again.\n")
	}
	plan, err := p.Plan(ctx, o.Options)
	if err != nil {
		return err
	}
	if !o.json || o.dryRun {
		if err := v.Answer(o.json, view.PruneDocument(s.URL(), plan, o.Rules, nil), view.Plan(s.URL(), plan, shell.Screen(v.Out))); err != nil {
			return err
		}
	}
	if o.dryRun {
		return marked(plan.Stopped())
	}
	if n := len(plan.Going()); n > 0 {
		if err := v.Ask(fmt.Sprintf("Remove what goes (%d)?", n), o.yes); err != nil {
			return err
		}
	}
	done, err := p.Carry(ctx, plan, o.Options)
	v.wipe()
	if err != nil && done.Plan.At.IsZero() {
		return err // nothing was done
	}
	err = errors.Join(err, v.Answer(o.json, view.PruneDocument(s.URL(), done.Plan, o.Rules, &done), view.Pruned(done, shell.Screen(v.Out))))
	if err == nil {
		err = marked(done.Plan.Stopped() || len(done.Left) > 0)
	}
	return err
}

func marked(is bool) error {
	if is {
		return shell.ErrMarked
	}
	return nil
}

// going shows how much has gone in one line, where a person watches.
func (v *verbs) going(quiet bool) func(objects, bytes int64) {
	if quiet || !shell.IsTerminal(v.Err) {
		return nil
	}
	var last time.Time
	return func(objects, bytes int64) {
		if time.Since(last) < 200*time.Millisecond {
			return
		}
		last = time.Now()
		shell.Rewrite(v.Err, fmt.Sprintf("removed %s, %s", units.Count(int(objects), "object"), units.Measured(float64(bytes))))
	}
}
