package protect

import (
	"errors"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	view "plumb/internal/view/protect"
)

// protect is the command about the points of a host as a whole.
func (v *verbs) protect() *cobra.Command {
	c := &cobra.Command{
		Use:   "protect",
		Short: "say how the points of this host stand; carry a policy out",
		Long:  "Protect is about the points of this host as a whole: what there is,\nand what a policy wants there to be.\n\n" + exits,
		Args:  v.NoSuchCommand,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(v.list(), v.status(), v.run())
	return c
}

func (v *verbs) list() *cobra.Command {
	var p machine.Place
	c := &cobra.Command{
		Use:   "list",
		Short: "list the points of this host, oldest first",
		Long: `List shows each point that is written down on this host, with its label and the
position of its server. It changes nothing.

` + exits,
		Example: "  plumb protect list\n  plumb protect list --json",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.On(p, func(m *machine.Machine) error {
				all, unread := m.Keeper.Store.List(c.Context(), m.Doer)
				return errors.Join(v.Answer(p.JSON, view.PointsDocument(m.Keeper.Store.Dir, all, unread), view.Points(all, shell.Screen(v.Out))), unread)
			})
		},
	}
	p.Flags(c)
	return c
}
