package cli

import (
	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
)

const labExitTable = `Exit codes:
  0  done
  1  --strict, and the answer is undecided or a trial does not count
  2  the command line or the experiment file is wrong
  3  it could not be done, or did not finish`

func (a *app) lab() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "run experiments on volumes and servers made for them",
		Long: `Lab runs experiments. An experiment is a file that says what is varied, what is
measured, and how often. The lab makes the volumes (a directory, a loop device with
ext4, XFS or btrfs, a ZFS pool) with the limits of a cloud volume, sets up private
servers on them, loads them, and runs the trials in random order, block by block,
until the answer is certain enough. Each trial is recorded in a ledger; one that
does not count, with the reason.

Everything it makes is recorded before it is made and removed at the end. After a
crash, lab run --resume continues, and lab sweep removes what was left. It touches
no server, volume or pool that it did not make. Experiments that change settings of
the whole machine run only with --allow-host; each setting is restored.

Volumes other than directories need root.`,
		Example: `  plumb lab run experiments/aa.yaml --dry-run     what would be done, and how long
  plumb lab run experiments/sync-binlog.yaml
  plumb lab run experiments/sync-binlog.yaml --resume
  plumb lab report sync-binlog --html report.html
  plumb lab list
  plumb lab sweep                                 what a killed lab left`,
		Args: a.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.labRun(), a.labReport(), a.labList(), a.labSweep())
	return c
}

// defaultLedger is where labs keep their records unless a flag says otherwise.
const defaultLedger = "plumb-lab"

// labPlace holds the flags that say where a lab keeps things.
type labPlace struct {
	shell.Place
	ledger string
}

func (p *labPlace) ledgerFlag(c *cobra.Command) {
	shell.SecretVar(c, &p.ledger, "ledger", defaultLedger, "`PLACE` of the ledger: a directory, or postgres://user@host/db for a team")
}
