package backup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/backup/stream"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/host"
	view "plumb/internal/view/backup"
)

// copying is what the command line says about a copy.
type copying struct {
	place
	server   string
	to       string
	all      bool
	rate     value.Size
	lockDays int
}

func (v *verbs) copy() *cobra.Command {
	var o copying
	c := &cobra.Command{
		Use:   "copy [ID | --all] --from URL --to URL",
		Short: "copy backups to another store, without decrypting them",
		Long: `Copy takes the newest backup, the one with an ID or all, and what it needs,
from one store to another. Nothing is decrypted, so no key is needed. Each object is
compared with what was signed before it is written, and the manifest is written
last. Objects that are there already, by name and size, are read and compared, and
sent again only if they differ.

Only backups signed by a trusted host are copied.

` + exits + `: the same command continues`,
		Example: `  plumb backup copy --from s3://backups/db1 --to file:///mnt/usb/db1
  plumb backup copy --all --from s3://backups/db1 --to 's3://offsite/db1?endpoint=https://s3.example.org&profile=offsite'`,
		Args: func(c *cobra.Command, args []string) error {
			if o.all && len(args) > 0 {
				return hint.Usage("an ID and --all cannot be combined", "give one of them")
			}
			return oneID(c, args)
		},
		RunE: func(c *cobra.Command, args []string) error {
			if len(o.urls) != 1 {
				return hint.Usage("copy reads from one place, but several were given", "name one with --from")
			}
			return v.onAll(o.place, []string{o.urls[0], o.to}, func(d *host.LiveDoer, both []store.Store) error {
				return v.carry(c.Context(), d, both[0], both[1], o, strings.Join(args, ""))
			})
		},
	}
	o.parallelFlag(c)
	o.flags(c, "from", oneURL+"; an S3 URL can end in ?endpoint=URL&region=NAME&profile=NAME")
	o.trustFlag(c)
	fl := c.Flags()
	fl.StringVar(&o.to, "to", "", "`URL` to copy to, like --from")
	fl.StringVar(&o.server, "server", "", "only backups of this server, as plumb backup list names it: mysql:3306")
	fl.BoolVar(&o.all, "all", false, "copy all backups")
	fl.Var(&o.rate, "limit-rate", "send at most this many bytes a second, such as 50M")
	fl.IntVar(&o.lockDays, "lock-days", 0, "have the target lock every object for this many days, so that nobody can remove it")
	if err := c.MarkFlagRequired("to"); err != nil {
		panic(err)
	}
	return c
}

// carry copies the backups.
func (v *verbs) carry(ctx context.Context, d *host.LiveDoer, from, to store.Store, o copying, id string) error {
	m, err := o.memory(d)
	if err != nil {
		return err
	}
	if err := m.Emptied(ctx, o.spot(to, o.to)); err != nil {
		return err
	}
	vault, err := o.vault(ctx, d, from)
	if err != nil {
		return err
	}
	vault.Doubt = v.doubt
	wanted, err := chosen(ctx, vault, id, o.server, o.all)
	if err != nil {
		return err
	}
	locked, err := LockFor(o.lockDays)
	if err != nil {
		return err
	}
	c := backup.Copying{From: vault, To: to, Workers: o.parallel, Pace: &stream.Pace{PerSecond: int64(o.rate)}, Lock: locked, Now: time.Now, Doing: v.doing(o.json)}
	began := time.Now()
	done, err := c.Run(ctx, wanted)
	v.wipe()
	if err != nil && len(done) > 0 {
		err = fmt.Errorf("%w (backups copied: %d of %d)", err, len(done), len(wanted))
	}
	if err != nil {
		return hint.With(err, "run the same command again to continue")
	}
	took := time.Since(began)
	if err := o.copied(ctx, d, from, to, wanted, done); err != nil {
		v.Warn("record what was copied", err)
	}
	err = v.Answer(o.json, view.CopyDocument(from.URL(), to.URL(), done, took), view.Copied(from.URL(), to.URL(), done, took, shell.Screen(v.Out)))
	v.lacksLogs(ctx, vault, to, wanted, done)
	if last := len(done) - 1; err == nil && !o.all && done[last].Pruned { // the one that was asked for
		err = hint.With(fmt.Errorf("backup %s is not in %s: a prune there removes it", done[last].ID, to.URL()), fmt.Sprintf("plumb backup prune --from %s --undo %s brings it back while its objects are there", to.URL(), done[last].ID))
	}
	return err
}

// lacksLogs warns of bases that were copied to a store without the log that brings them to a moment.
func (v *verbs) lacksLogs(ctx context.Context, vault backup.Vault, to store.Store, wanted []manifest.Manifest, done []backup.Copied) {
	vault.Store = to
	behind, err := v.moments.Logs.Behind(ctx, []backup.Vault{vault}, there(wanted, done)...)
	v.Warn("look for the log after what was copied", err)
	if text := view.CopiedBehind(to.URL(), behind); text != "" {
		fmt.Fprintf(v.Err, "warning: %s\n", shell.OneLine(text))
	}
}

// there returns those of some backups that the target of a copy has now.
func there(wanted []manifest.Manifest, done []backup.Copied) []manifest.Manifest {
	return slices.DeleteFunc(slices.Clone(wanted), func(m manifest.Manifest) bool {
		return !slices.ContainsFunc(done, func(c backup.Copied) bool { return c.ID == m.ID && !c.Pruned })
	})
}
