package inner

import (
	"errors"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/host"
	"plumb/internal/protect/heir"
)

// heir is the process that gives a server back when plumb snapshot dies. It is hidden, as plumb snapshot starts it.
func (v *verbs) heir() *cobra.Command {
	var p shell.Source
	c := &cobra.Command{
		Use:   "heir",
		Short: "release a server that a dying plumb has locked; plumb snapshot starts it",
		Long: `Heir is told on its standard input what to release, and logs in. It does so if its
input ends without word that it was done.

Exit codes:
  0  it did not have to
  1  it released the server
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
