package protect

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/prune"
	view "plumb/internal/view/protect"
)

func (v *verbs) status() *cobra.Command {
	var p machine.Place
	file := ""
	c := &cobra.Command{
		Use:   "status",
		Short: "report the points of this host, and whether a policy is met",
		Long: `Status shows for each server its newest point, its newest proven one, the space that
its points hold, what the next prune would do, and snapshots that others took of its
volumes, which do not count as points. A point whose snapshots are gone or cannot be
read does not count. With a policy (that of --policy, or else of the last plumb
protect run) it says what is not met. It changes nothing.

Exit codes:
  0  everything that the policy asks for is there, or there is no policy
  1  something of the policy is not met, or not known
  2  the command line is wrong
  3  it could not read what it needs`,
		Example: "  plumb protect status\n  plumb protect status --policy /etc/plumb/protect.yaml --json",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return v.On(p, func(m *machine.Machine) error { return v.runStatus(c.Context(), m, p, file) })
		},
	}
	p.Flags(c)
	c.Flags().StringVar(&file, "policy", "", "the policy in `FILE`; default: that of the last run")
	return c
}

// policyNow reads the policy that was named, or else that of the last run; nil if there is neither.
func policyNow(named, last string) (p *policy.Policy, err error) {
	switch {
	case named != "":
		return policyOf(named)
	case last == "":
		return nil, nil
	}
	if p, err = policyOf(last); err != nil { // which is no usage error, as nobody named the file
		err = hint.With(errors.New(err.Error()), "it is the policy of the last plumb protect run; --policy FILE names another")
	}
	return p, err
}

func (v *verbs) runStatus(ctx context.Context, m *machine.Machine, p machine.Place, file string) error {
	in := policy.Seen{Now: m.Keeper.Now()}
	var err error
	if in.Memory, err = policy.Remember(ctx, m.Doer, m.Memory); err != nil {
		return err
	}
	if in.Backups, err = policy.Remember(ctx, m.Doer, policy.BackupsOf(m.Memory)); err != nil {
		return err
	}
	if in.Policy, err = policyNow(file, in.Memory.Policy); err != nil {
		return err
	}
	if in.Points, err = m.Keeper.Store.List(ctx, m.Doer); err != nil {
		in.Unread = err.Error()
	}
	if s, err := m.Look(ctx); err != nil {
		in.Unseen = err.Error()
	} else {
		in.Servers = m.Servers(s)
		others, _ := m.Foreign(ctx, s, in.Points) // errors are ignored, as snapshots of others are only additional information
		in.Foreign = policy.Count(others)
	}
	in.Facts = prune.Pruner{Keeper: m.Keeper}.Facts(ctx, m.Doer, in.Points)
	status := policy.Assess(in)
	if err := v.Answer(p.JSON, view.StatusDocument(status), view.Status(status, shell.Screen(v.Out))); err != nil {
		return err
	}
	if !status.Met() {
		return shell.ErrMarked
	}
	return nil
}
