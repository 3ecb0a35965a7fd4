package protect

import (
	"errors"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/protect"
	"plumb/internal/protect/prune"
	view "plumb/internal/view/protect"
)

// protect makes the command about all points of a host.
func (v *verbs) protect() *cobra.Command {
	c := &cobra.Command{
		Use:   "protect",
		Short: "report on the points of this host; carry out a policy",
		Long:  "Protect lists the points of this host, carries out a policy, and reports whether it\nis met.\n\n" + exits,
		Example: `  plumb protect list
  plumb protect status
  plumb protect run /etc/plumb/protect.yaml --dry-run`,
		Args: v.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(v.list(), v.status(), v.run(), v.hold())
	return c
}

func (v *verbs) list() *cobra.Command {
	var p machine.Place
	foreign := false
	c := &cobra.Command{
		Use:   "list",
		Short: "list the points of this host, oldest first",
		Long: `List shows each recorded point of this host, with its label and its
server's position; one whose snapshots somebody destroyed is shown as gone, and does
not count. With --foreign it also shows snapshots that others took of what the
servers of this host keep data on: of unknown consistency, never pruned by Plumb,
and usable with plumb clone and plumb drill. It changes nothing.

` + exits,
		Example: "  plumb protect list\n  plumb protect list --json",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.On(p, func(m *machine.Machine) error {
				all, unread := m.Keeper.Store.List(c.Context(), m.Doer)
				var others []protect.Foreign
				if foreign {
					s, err := m.Look(c.Context())
					if err == nil {
						others, err = m.Foreign(c.Context(), s, all)
					}
					unread = errors.Join(unread, err)
				}
				facts := prune.Pruner{Keeper: m.Keeper}.Facts(c.Context(), m.Doer, all)
				text := view.Points(all, facts, shell.Screen(v.Out)) + view.Foreign(others, shell.Screen(v.Out))
				if unread != nil && len(all)+len(others) == 0 {
					text = "" // there may be points that could not be read
				}
				return errors.Join(v.Answer(p.JSON, view.PointsDocument(m.Keeper.Store.Dir, all, facts, others, unread), text), unread)
			})
		},
	}
	p.Flags(c)
	c.Flags().BoolVar(&foreign, "foreign", false, "also show snapshots that others took")
	return c
}
