package upkeep

import (
	"errors"

	"github.com/spf13/cobra"

	"plumb/internal/backup/store"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
)

// Hold makes the command plumb backup hold.
func Hold(sh *shell.Shell, p Place) *cobra.Command {
	owner, release := "", false
	c := &cobra.Command{
		Use:   "hold ID --from URL --as OWNER",
		Short: "keep a backup from being pruned, or release it",
		Long: `Hold keeps a backup, and what it needs, whatever the rules of a prune say, until
the same OWNER releases it. A pruned backup whose objects are still there is
taken back.

Exit codes:
  0  done
  2  the command line is wrong
  3  refused, or failed: nothing is held, or the hold stays`,
		Example: `  plumb backup hold 20261125T122347Z-083cbfe6 --from s3://backups/db1 --as audit-2026
  plumb backup hold 20261125T122347Z-083cbfe6 --from s3://backups/db1 --as audit-2026 --release`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return hint.Usage("one ID is needed", "plumb backup list shows them")
			}
			return noJSON(p, "hold")
		},
		RunE: func(c *cobra.Command, args []string) error {
			return p.On(func(d *host.LiveDoer, s store.Store) error {
				v, err := p.Vault(c.Context(), d, s)
				if err != nil {
					return err
				}
				if release {
					if err := v.Release(c.Context(), args[0], owner); err != nil {
						return err
					}
					return sh.Print("Backup " + shell.OneLine(args[0]) + " is no longer held by " + shell.OneLine(owner) + ".\n")
				}
				if err := v.Hold(c.Context(), args[0], owner); err != nil {
					return err
				}
				return sh.Print("Backup " + shell.OneLine(args[0]) + " is held by " + shell.OneLine(owner) + ".\n")
			})
		},
	}
	p.Flags(c)
	c.Flags().StringVar(&owner, "as", "", "hold it as this owner, a `WORD`")
	c.Flags().BoolVar(&release, "release", false, "end the hold")
	if err := errors.Join(c.MarkFlagRequired("as"), c.Flags().MarkHidden("json")); err != nil { // hidden, but known, so that noJSON can say why it does not work
		panic(err)
	}
	return c
}

// noJSON is a usage error for --json where there is no document.
func noJSON(p Place, what string) error {
	if p.JSON() {
		return hint.Usage(what+" has no JSON", "the exit code is its only result; plumb backup list --json shows the backups")
	}
	return nil
}
