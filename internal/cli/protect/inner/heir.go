package inner

import (
	"errors"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/host"
	"plumb/internal/protect/heir"
)

// heir is the process that gives a server back when plumb snapshot dies. It is hidden: that starts it.
func (v *verbs) heir() *cobra.Command {
	var p shell.Source
	c := &cobra.Command{
		Use:   "heir",
		Short: "give a server back that a plumb which dies has locked, as plumb snapshot starts it",
		Long: `Heir is told on its standard input what to give back, and logs in. It does so when
its input ends without a word that it was done.

Exit codes:
  0  it did not have to
  1  it gave the server back
  3  it could not`,
		Args:   shell.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			live, _, err := p.Live(v.Dialers)
			if err != nil {
				return err
			}
			d := host.NewLiveDoer(live)
			defer func() { err = errors.Join(err, d.Close()) }()
			acted, err := heir.Serve(c.Context(), d, v.In, v.Out)
			if acted && err == nil {
				return shell.ErrMarked
			}
			return err
		},
	}
	p.LiveFlags(c)
	return c
}
