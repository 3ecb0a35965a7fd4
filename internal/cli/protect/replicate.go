package protect

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/drill"
	"plumb/internal/protect/policy"
	"plumb/internal/protect/replicate"
	view "plumb/internal/view/protect"
)

func (v *verbs) replicate() *cobra.Command {
	var p machine.Place
	var o replicate.Options
	var ssh []string
	verify := false
	c := &cobra.Command{
		Use:   "replicate POINT TARGET",
		Short: "send a point to another pool or host",
		Long: `Replicate sends the snapshots of a point on ZFS to TARGET: a dataset of another
pool, or ssh://user@host/pool/dataset. It sends an increment to the newest point
that the target has, resumes a stream that was cut off, and overwrites or rolls back
nothing there. The target dataset is created if it does not exist, and must be one
that plumb replicate made. What is received is read-only and not mounted. If TARGET
is in the pool of the source, the result says so: both would be lost with that pool.

Encrypted datasets are sent raw, so that the target needs no key, unless --decrypted
was given the first time. The target needs sshd and zfs; with plumb receive --only
DATASET as its forced command, the key can do nothing else there.

--verify then has the target start a copy of what it received, as plumb drill does
here, and records the result. The target needs Plumb, the server's program of the
same release, and the user plumb-verify, who runs it; if the key has a forced
command, that needs --verify too. The program is one of the target's own.

` + exits,
		Example: `  plumb replicate 20261123T2105 tank2/copies
  plumb replicate 20261123T2105 tank2/copies --verify
  plumb replicate 20261123T2105 ssh://backup@vault/tank/copies --ssh -i --ssh /root/.ssh/backup`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return hint.Usage(c.CommandPath()+" needs a POINT and a TARGET", "plumb protect list shows the points")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return v.On(p, func(m *machine.Machine) error {
				target, err := replicate.ParseTarget(args[1])
				if err == nil && target.Host == "" && len(ssh) > 0 {
					err = hint.Usage("--ssh has no effect: the target "+args[1]+" is on this host", "leave it out, or name a target ssh://user@host/pool/dataset")
				}
				if err != nil {
					return err
				}
				point, err := m.Keeper.Store.Get(c.Context(), m.Doer, args[0])
				if err != nil {
					return err
				}
				sender := replicator(m, point, ssh)
				r, err := sender.Run(c.Context(), point, target, o)
				if len(r.Sent) == 0 {
					return err
				}
				if verify && err == nil {
					r.Verified, err = sender.Verify(c.Context(), point, target, v.prover(m, p.JSON))
					v.Done()
				}
				err = errors.Join(v.Answer(p.JSON, view.ReplicateDocument(r), view.Replicated(r, shell.Screen(v.Out))), err)
				if err == nil && r.Verified != nil && r.Verified.Short() != "" {
					err = shell.ErrMarked
				}
				return err
			})
		},
	}
	p.Flags(c)
	c.Flags().BoolVar(&o.Decrypted, "decrypted", false, "send encrypted datasets unencrypted; the same for all points of a dataset")
	c.Flags().BoolVar(&verify, "verify", false, "have the target start a copy of what it received, and record the result")
	c.Flags().StringArrayVar(&ssh, "ssh", nil, "one `WORD` of options for ssh; can be given several times")
	return c
}

// replicator makes what sends points by the ZFS that a point is on.
func replicator(m *machine.Machine, p protect.Point, ssh []string) replicate.Replicator {
	fuse := slices.ContainsFunc(p.Members, func(m protect.Member) bool { return m.Storage == "zfs-fuse" })
	return replicate.Replicator{Keeper: m.Keeper, Fuse: fuse, SSH: ssh}
}

// send sends a point for a policy.
func (a *acts) send(ctx context.Context, act policy.Act) error {
	to := act.Rule.Replicate[slices.IndexFunc(act.Rule.Replicate, func(t policy.Target) bool { return t.To == act.Target })]
	target, err := replicate.ParseTarget(to.To)
	if err != nil {
		return err
	}
	point, err := a.m.Keeper.Store.Get(ctx, a.m.Doer, act.Point)
	if err != nil {
		return err
	}
	sender := replicator(a.m, point, to.SSH)
	r, err := sender.Run(ctx, point, target, replicate.Options{Decrypted: to.Decrypted})
	if r.Doubt != "" {
		a.v.Warn("replicate to "+to.To, errors.New(r.Doubt))
	}
	if err != nil || !to.Verify {
		return err
	}
	came, err := sender.Verify(ctx, point, target, a.v.prover(a.m, true))
	if err == nil && came.Short() != "" {
		err = fmt.Errorf("%s has point %s, but a copy of it did not pass: %s", target, point.ID, came.Short())
	}
	if err != nil {
		return policy.Done(err) // it was sent, and need not be again
	}
	return nil
}

// prover makes what starts copies of what was received.
func (v *verbs) prover(m *machine.Machine, quiet bool) replicate.Prover {
	return drill.Drill{Maker: m.Copies, Replica: true, Doing: v.Doing(quiet)}.Run
}

// proverOfStrangers does so with nothing but what is this host's: the points came from another one. It proves one at
// a time, because their copies have one account.
func (v *verbs) proverOfStrangers(m *machine.Machine) replicate.Prover {
	return func(ctx context.Context, p protect.Point) (protect.Drill, error) {
		unlock, err := m.Doer.Lock(ctx, filepath.Join(m.Keeper.Books, "verify.lock"))
		if err != nil {
			return protect.Drill{}, host.HeldBy(err, "another point is being verified at this target", "wait until it has ended")
		}
		defer unlock()
		return drill.Drill{Maker: m.Copies, Replica: true, Stranger: true, Doing: v.Doing(true)}.Run(ctx, p)
	}
}

// receive is the forced command of an SSH key. It is hidden, as no person types it.
func (v *verbs) receive() *cobra.Command {
	var p machine.Place
	only, verify := "", false
	c := &cobra.Command{
		Use:   "receive --only DATASET",
		Short: "receive points from another host, as the forced command of an SSH key",
		Long: `Receive runs what plumb replicate asked for over SSH, for DATASET and those below
it, and refuses everything else. It is the forced command of a key, in
authorized_keys:

  restrict,command="plumb receive --only tank/copies" ssh-ed25519 AAAA...

With --verify the key may also have a copy started of a point that it sent. Whoever
has the key decides what the files of that copy contain, and so what its server
does: it runs as the user plumb-verify, with a program of this host, without
network.

` + exits,
		Args:   shell.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			command := os.Getenv("SSH_ORIGINAL_COMMAND")
			if verify {
				return v.received(c.Context(), p, only, command)
			}
			d := shell.Machine()
			defer func() { err = errors.Join(err, d.Close()) }()
			return replicate.Receiver{Do: d, Only: only}.Receive(c.Context(), command, v.In, v.Out)
		},
	}
	p.Flags(c)
	c.Flags().StringVar(&only, "only", "", "the `DATASET` to which points may be sent")
	c.Flags().BoolVar(&verify, "verify", false, "also allow copies of what was received to be started")
	return c
}

// received answers requests with a key that may start copies.
func (v *verbs) received(ctx context.Context, p machine.Place, only, command string) error {
	return v.On(p, func(m *machine.Machine) error {
		return replicate.Receiver{Do: m.Doer, Only: only, Prove: v.proverOfStrangers(m)}.Receive(ctx, command, v.In, v.Out)
	})
}

// proveReceived is the command that plumb replicate --verify runs on a target where the key has no forced command.
func (v *verbs) proveReceived() *cobra.Command {
	var p machine.Place
	c := &cobra.Command{
		Use:    "prove POINT DATASET",
		Short:  "start a copy of a point that another host sent here",
		Long:   "Prove starts a copy of a point that plumb replicate sent to DATASET, and answers\nwhat came of it. The point is told on standard input.\n\n" + exits,
		Hidden: true,
		Args:   shell.Args(2, 2, "a POINT and a DATASET"),
		RunE: func(c *cobra.Command, args []string) error {
			return v.received(c.Context(), p, args[1], "plumb prove "+args[0]+" "+args[1])
		},
	}
	p.Flags(c)
	return c
}
