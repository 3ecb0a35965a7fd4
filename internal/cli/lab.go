package cli

import (
	"cmp"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
	"plumb/internal/inventory"
)

const labExitTable = `Exit codes:
  0  done
  1  --strict, and the answer is undecided or a trial does not count
  2  the command line or the experiment file is wrong
  3  it could not be done, or did not go to its end`

func (a *app) lab() *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "run experiments on volumes and servers made for them",
		Long: `An experiment is a file that says what is varied, what is measured, and how often.
The lab makes the volumes (a directory, a loop device with ext4, XFS or btrfs, a
ZFS pool) with the limits of a cloud volume, sets up private servers on them, loads
them, and runs the trials in random order, block by block, until the answer is sure
enough. Each trial goes into a ledger; one that does not count, with the reason.

Everything it makes is written down before it is made and taken away at the end.
After a crash, lab run --resume goes on, and lab sweep takes away what was left.
It touches no server, volume or pool that it did not make. Experiments that change
settings of the whole machine run only with --allow-host; each is put back.

Volumes other than directories need root.`,
		Example: `  plumb lab run experiments/aa.yaml --dry-run     what would be done, and how long
  plumb lab run experiments/sync-binlog.yaml
  plumb lab run experiments/sync-binlog.yaml --resume
  plumb lab report sync-binlog --html report.html
  plumb lab list
  plumb lab sweep                                 what a killed lab left`,
		Args: a.noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(a.labRun(), a.labReport(), a.labList(), a.labSweep())
	return c
}

// defaultLedger is where labs keep their records unless they are told otherwise.
const defaultLedger = "plumb-lab"

// labPlace are the flags that say where a lab keeps things.
type labPlace struct {
	ledger string
	state  string
}

func (p *labPlace) ledgerFlag(c *cobra.Command) {
	secretVar(c, &p.ledger, "ledger", defaultLedger, "the `PLACE` of the records: a directory, or postgres://user@host/db for a team")
}

func (p *labPlace) stateFlag(c *cobra.Command) {
	c.Flags().StringVar(&p.state, "state", "", "keep the list of what was made in `DIR` instead of the usual place")
}

// books is the directory of the books of what labs made.
func (p *labPlace) books() (string, error) {
	if p.state != "" {
		return filepath.Abs(p.state)
	}
	if os.Getuid() == 0 {
		return inventory.Directory, nil
	}
	home := os.Getenv("HOME")
	base := cmp.Or(os.Getenv("XDG_STATE_HOME"), filepath.Join(home, ".local/state"))
	if home == "" && !filepath.IsAbs(base) {
		return "", hint.With(errors.New("find a directory for the book of what is made: neither $XDG_STATE_HOME nor $HOME is set"), "--state DIR names one")
	}
	return filepath.Join(base, "plumb/lab"), nil
}
