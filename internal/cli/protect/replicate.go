package protect

import (
	"context"
	"errors"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/replicate"
	view "plumb/internal/view/protect"
)

func (v *verbs) replicate() *cobra.Command {
	var p machine.Place
	var o replicate.Options
	var ssh []string
	c := &cobra.Command{
		Use:   "replicate POINT TARGET",
		Short: "send a point to another pool or host",
		Long: `Replicate sends the snapshots of a point on ZFS to TARGET: a dataset of another
pool, or ssh://user@host/pool/dataset. It sends what changed since the newest point
that the target has, goes on with a stream that was cut off, and overwrites or rolls
back nothing there. The target dataset is made when it is missing, and must be one
that plumb replicate made. What is received is read-only and not mounted.

Encrypted datasets go raw, so that the target needs no key, unless --decrypted says
otherwise the first time. The target needs sshd and zfs; with a forced command,
plumb receive --only DATASET, the key can do nothing else there.

` + exits,
		Example: `  plumb replicate 20261123T2105 tank2/copies
  plumb replicate 20261123T2105 ssh://backup@vault/tank/copies --ssh -i --ssh /root/.ssh/backup`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return hint.Usage(c.CommandPath()+" wants a POINT and a TARGET", "plumb protect list shows the points")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			target, err := replicate.ParseTarget(args[1])
			if err != nil {
				return err
			}
			return v.On(p, func(m *machine.Machine) error {
				point, err := m.Keeper.Store.Get(c.Context(), m.Doer, args[0])
				if err != nil {
					return err
				}
				r, err := replicator(m, point, ssh).Run(c.Context(), point, target, o)
				if len(r.Sent) == 0 {
					return err
				}
				return errors.Join(v.Answer(p.JSON, view.ReplicateDocument(r), view.Replicated(r, shell.Screen(v.Out))), err)
			})
		},
	}
	p.Flags(c)
	c.Flags().BoolVar(&o.Decrypted, "decrypted", false, "send encrypted datasets in the clear; the same for all points of a dataset")
	c.Flags().StringArrayVar(&ssh, "ssh", nil, "one `WORD` of options for ssh; can be given several times")
	return c
}

// replicator sends points by the ZFS that this one is on.
func replicator(m *machine.Machine, p protect.Point, ssh []string) replicate.Replicator {
	fuse := slices.ContainsFunc(p.Members, func(m protect.Member) bool { return m.Storage == "zfs-fuse" })
	return replicate.Replicator{Keeper: m.Keeper, Fuse: fuse, SSH: ssh}
}

// send does what a policy asks for.
func (a *acts) send(ctx context.Context, id, to string) error {
	target, err := replicate.ParseTarget(to)
	if err != nil {
		return err
	}
	point, err := a.m.Keeper.Store.Get(ctx, a.m.Doer, id)
	if err != nil {
		return err
	}
	_, err = replicator(a.m, point, nil).Run(ctx, point, target, replicate.Options{})
	return err
}

// receive is the forced command of an SSH key. It is hidden: no person types it.
func (v *verbs) receive() *cobra.Command {
	only := ""
	c := &cobra.Command{
		Use:   "receive --only DATASET",
		Short: "receive points from another host, as the forced command of an SSH key",
		Long: `Receive runs what plumb replicate asked for over SSH, for DATASET and those below
it, and refuses all else. It is the forced command of a key, in authorized_keys:

  restrict,command="plumb receive --only tank/copies" ssh-ed25519 AAAA...

` + exits,
		Args:   shell.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			d := host.NewLiveDoer(host.NewLive(host.LiveOptions{Plumb: shell.Version()}))
			defer func() { err = errors.Join(err, d.Close()) }()
			return replicate.Receive(c.Context(), d, only, os.Getenv("SSH_ORIGINAL_COMMAND"), v.In, v.Out)
		},
	}
	c.Flags().StringVar(&only, "only", "", "the `DATASET` to which points may be sent")
	return c
}
