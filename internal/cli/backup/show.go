package backup

import (
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/store"
	"plumb/internal/cli/shell"
	"plumb/internal/host"
	view "plumb/internal/view/backup"
)

func (v *verbs) show() *cobra.Command {
	var p place
	server := ""
	c := &cobra.Command{
		Use:   "show [ID] --from URL",
		Short: "show one backup, and what it needs",
		Long: `Show describes the newest backup, or the one with an ID: which server it is of, when
it was made, what its streams are, which backups it needs, who signed it, and
whether a server was started on it. With --json it prints the backup and those that
it needs, the full one first.

` + shell.ReadExits,
		Example: `  plumb backup show --from s3://backups/db1
  plumb backup show 20261125T1200 --from s3://backups/db1`,
		Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			return v.on(p, func(d *host.LiveDoer, s store.Store) error {
				ctx := c.Context()
				vault, err := p.vault(ctx, d, s)
				if err != nil {
					return err
				}
				vault.Doubt = v.doubt
				all, broken := vault.Show(ctx, strings.Join(args, ""), server)
				if len(all) == 0 {
					return broken
				}
				behind, err := v.moments.Logs.Behind(ctx, []backup.Vault{vault}, believed(all)...)
				v.Warn("look for the log after the backup", err)
				if err := v.Answer(p.json, view.ListDocument(s.URL(), all, behind), view.Shown(s.URL(), all, behind, shell.Screen(v.Out))); err != nil {
					return err
				}
				return broken
			})
		},
	}
	p.flags(c, "from", oneURL)
	p.trustFlag(c)
	c.Flags().StringVar(&server, "server", "", "only backups of this server, as plumb backup list names it: mysql:3306")
	return c
}
