package archive

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/archive"
	backupcli "plumb/internal/cli/backup"
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/cli/shell"
	mysqlpitr "plumb/internal/engine/mysql/pitr"
	"plumb/internal/engine/postgres/pitr"
	"plumb/internal/host"
	view "plumb/internal/view/archive"

	"plumb/internal/backup"
	"plumb/internal/backup/store"
)

const statusExits = `Exit codes:
  0  all is archived
  1  something is not, or no service runs
  2  the command line is wrong
  3  it could not read what it needs`

func (v *verbs) status() *cobra.Command {
	state, asJSON, lag := "", false, time.Minute
	c := &cobra.Command{
		Use:   "status",
		Short: "report the state of the archiving services of this host",
		Long: `Status reads what the services have recorded about themselves, and says what is
wrong: one that has reported nothing for a while, what failed and since when, a
binary log whose newest part is not archived, a log that broke off.

` + statusExits,
		Example: `  plumb archive status
  plumb archive status --lag 10s --json`,
		Args: shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			at, err := backup.At(state)
			if err != nil {
				return err
			}
			live := host.NewLive(host.LiveOptions{Plumb: shell.Version()})
			defer func() { err = errors.Join(err, live.Close()) }()
			all, err := archive.Statuses(c.Context(), live, at)
			if err != nil {
				return err
			}
			now := time.Now()
			if err := v.Answer(asJSON, view.StatusDocument(all, now, lag), view.Status(all, now, lag, shell.Screen(v.Out))); err != nil {
				return err
			}
			for _, s := range all {
				if len(s.Trouble(now, lag)) > 0 {
					return shell.ErrMarked
				}
			}
			if len(all) == 0 {
				return shell.ErrMarked
			}
			return nil
		},
	}
	c.Flags().StringVar(&state, "state", "", "read the state of the services in `DIR` instead of "+backup.Directory)
	shell.JSONFlag(c, &asJSON, "")
	c.Flags().DurationVar(&lag, "lag", lag, "how long written data may stay unarchived")
	return c
}

func (v *verbs) list() *cobra.Command {
	var p backupcli.Place
	c := &cobra.Command{
		Use:   "list --from URL",
		Short: "list what is archived, and the gaps in it",
		Long: `List shows which stretches of log are in a store, by the names of their objects.
Whether they are complete and signed by a trusted host is checked by a restore.

` + shell.ReadExits,
		Example: "  plumb archive list --from s3://backups/db1",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return p.On(v.Shell, func(d *host.LiveDoer, s store.Store) error {
				vault, err := p.Vault(c.Context(), d, s)
				if err != nil {
					return err
				}
				found, pruned, err := stretches(c.Context(), upkeep.Shelf(vault))
				if err != nil {
					return err
				}
				return v.Answer(p.JSON(), view.ListDocument(s.URL(), found, pruned), view.List(s.URL(), found, pruned, shell.Screen(v.Out)))
			})
		},
	}
	p.FromFlags(c)
	return c
}

// stretches finds what is archived without gaps, and what was pruned: that the beginning is missing is no gap.
func stretches(ctx context.Context, shelf archive.Shelf) (found []archive.Stretch, pruned []view.Pruned, err error) {
	all, err := shelf.List(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	for _, log := range archive.Logs(all) {
		b, err := shelf.Beginning(ctx, log[0].Server)
		one := view.Pruned{Server: log[0].Server, Before: b.Gone.Text, Since: b.Since, By: b.By}
		if err != nil {
			one.Doubt, b = err.Error(), archive.Beginning{}
		}
		for _, product := range []archive.Product{pitr.Engine{}, mysqlpitr.Engine{}} {
			kept, left := archive.Since(product, log, b.Gone)
			found, one.Left = append(found, product.Stretches(kept)...), one.Left+left
		}
		if one.Before != "" || one.Doubt != "" {
			pruned = append(pruned, one)
		}
	}
	return found, pruned, nil
}
