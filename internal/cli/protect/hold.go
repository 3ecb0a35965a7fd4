package protect

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/protect"
	view "plumb/internal/view/protect"
)

// ownerName matches the names the owner of a hold may have. The owners that plumb replicate makes have a blank in their names, and so are never the same.
var ownerName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,60}$`)

func (v *verbs) hold() *cobra.Command {
	var p machine.Place
	owner, release := "", false
	c := &cobra.Command{
		Use:   "hold POINT --as OWNER",
		Short: "keep a point from being pruned, or release it",
		Long: `Hold keeps a point, whatever the rules of a prune say, until the same OWNER
releases it. Several owners can hold a point: it stays while one of them does. What
plumb replicate holds for a target that is gone for good is released in its name;
what is sent there later may have to start over.

` + exits,
		Example: `  plumb protect hold 20261123T2105 --as audit-2026
  plumb protect hold 20261123T2105 --as audit-2026 --release
  plumb protect hold 20261123T2105 --as "replicate tank2/copies" --release`,
		Args: shell.OneArg("point"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.On(p, func(m *machine.Machine) error {
				if owner == "" || !release && !ownerName.MatchString(owner) {
					return hint.Usage(fmt.Sprintf("--as %q is not a name for an owner", owner), "use a word of letters, digits, and any of . _ @ -")
				}
				point, err := m.Keeper.Store.Get(c.Context(), m.Doer, args[0])
				if err != nil {
					return err
				}
				do, text := m.Keeper.Hold, "is held by"
				if release {
					do, text = m.Keeper.Release, "is no longer held by"
				}
				if err := do(c.Context(), point.ID, owner); err != nil {
					return err
				}
				if point, err = m.Keeper.Store.Get(c.Context(), m.Doer, point.ID); err != nil {
					return err
				}
				return v.Answer(p.JSON, view.PointsDocument(m.Keeper.Store.Dir, []protect.Point{point}, nil, nil, nil), fmt.Sprintf("Point %s %s %s.\n", point.ID, text, shell.OneLine(owner)))
			})
		},
	}
	p.Flags(c)
	c.Flags().StringVar(&owner, "as", "", "hold it as this owner, a `WORD`")
	c.Flags().BoolVar(&release, "release", false, "end the hold")
	return c
}
