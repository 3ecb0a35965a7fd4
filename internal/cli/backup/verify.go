package backup

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/moment"
	"plumb/internal/backup/prove"
	"plumb/internal/backup/store"
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	view "plumb/internal/view/backup"
)

func (v *verbs) verify() *cobra.Command {
	var o opening
	var all bool
	under, percent := "", 1.0
	c := &cobra.Command{
		Use:   "verify [ID] --from URL",
		Short: "read backups again, and prove that a server starts on them",
		Long: `Verify lists the objects of the newest backup, of the one with an ID or of all, and
reads a sample of them. Without keys each is compared with the hash that was
signed when it was sent; with --identity it is decrypted and unpacked too. What a
backup needs is verified with it.

--restore PLACE is the full proof: the backup is restored, a server is started on
it, which recovers, is checked and read, and all of that is removed again. The
backup of a point is restored below a dataset, or in a directory on btrfs if it is
one of btrfs. A base backup of pg_basebackup or mariadb-backup is unpacked in a
directory, with all the log that plumb archive has after it. This needs the key,
the server's program of the same release, and the user plumb-verify, as whom it
runs without network.

Exit codes:
  0  what was read is what was sent; with --restore, a server started on it
  1  with --restore: no server started on it, or a check found something wrong
  2  the command line is wrong
  3  refused, or failed: what was read is not what was sent, or was not read`,
		Example: `  plumb verify --from s3://backups/db1
  plumb verify --from s3://backups/db1 --sample 100 --identity key.txt
  plumb verify --from s3://backups/db1 --restore tank --identity key.txt --trust db1.pub
  plumb verify --from s3://backups/db1 --restore /srv/scratch --identity key.txt --trust db1.pub`,
		Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			if !(percent >= 0 && percent <= 100) { // nor what is no number
				return hint.Usage(fmt.Sprintf("--sample %g is not a percentage", percent), "0 to 100")
			}
			return v.on(o.place, func(d *host.LiveDoer, s store.Store) error {
				if under != "" {
					return v.prove(c.Context(), d, s, o, strings.Join(args, ""), under)
				}
				return v.again(c.Context(), d, s, o, strings.Join(args, ""), all, percent)
			})
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&all, "all", false, "verify all backups")
	c.Flags().StringVar(&under, "restore", "", "restore it below this dataset, or in this directory (`PLACE`), start a server on it, and remove that again")
	c.MarkFlagsMutuallyExclusive("restore", "all")
	c.Flags().Float64Var(&percent, "sample", percent, "percentage of objects to read; the first and the last of each stream are always read")
	return c
}

// prove restores a backup, and starts a server on it.
func (v *verbs) prove(ctx context.Context, d *host.LiveDoer, s store.Store, o opening, id, under string) error {
	if o.identity == "" {
		return hint.Usage("--restore opens the backup, and no key was given", "--identity FILE")
	}
	keys, vault, err := v.opened(ctx, d, s, o)
	if err != nil {
		return err
	}
	m, err := vault.Find(ctx, id, o.server)
	if err != nil {
		return err
	}
	r := o.restoring(d, vault, keys, v.follow(new(standing), o.json))
	return v.On(machine.At(o.state), func(here *machine.Machine) error {
		got, notes, err := v.proof(ctx, d, here, r, m, under, o.json)
		v.wipe()
		if err != nil {
			return err
		}
		if err := o.mark(ctx, d, vault, m, got); err != nil {
			v.Warn("write down what came of it", err)
		}
		err = v.Answer(o.json, view.ProofDocument(s.URL(), m, got, notes), view.Proven(m, got, notes, shell.Screen(v.Out)))
		if err == nil && !got.OK {
			err = shell.ErrMarked
		}
		return err
	})
}

// proof proves the backup of a point, and a base, which is in a directory.
func (v *verbs) proof(ctx context.Context, d *host.LiveDoer, here *machine.Machine, r backup.Restore, m manifest.Manifest, under string, quiet bool) (got protect.Drill, notes []string, err error) {
	r.Books = here.Keeper.Books
	run := here.Prover(ctx, v.Doing(quiet))
	if m.Point != "" || !strings.HasPrefix(under, "/") {
		got, err = prove.Proof{Restore: r, Under: under, Keeper: here.Keeper, Prove: run.Run}.Run(ctx, m)
		return got, nil, err
	}
	uid, gid, err := here.Verifier(ctx)
	if err != nil {
		return got, nil, err
	}
	base := prove.Base{Restore: moment.Restore{Restore: r, Do: d, Engines: v.moments.Engines}, Under: under, UID: uid, GID: gid, Lend: here.Scratch.Lent, Prove: run.Run}
	return base.Run(ctx, m)
}

// mark writes down in the store what came of it, so that prune and lists know, and here, so that a check does.
func (o *opening) mark(ctx context.Context, d *host.LiveDoer, vault backup.Vault, m manifest.Manifest, got protect.Drill) error {
	at, err := backup.At(o.state)
	if err != nil {
		return err
	}
	name := shell.Hostname()
	key, _, err := backup.HostKey(ctx, d, at, name)
	if err != nil {
		return err
	}
	proof := manifest.Proof{ID: m.ID, At: time.Now().UTC().Truncate(time.Second), Host: name, OK: got.OK, Why: got.Why}
	memory := upkeep.Memory{Do: d, Dir: at}
	return errors.Join(vault.Mark(ctx, proof, key), memory.Tried(ctx, o.spot(vault.Store, o.urls[0]), m, proof))
}

// again reads backups again.
func (v *verbs) again(ctx context.Context, d *host.LiveDoer, s store.Store, o opening, id string, all bool, percent float64) error {
	keys, vault, err := v.opened(ctx, d, s, o)
	if err != nil {
		return err
	}
	chain, err := chosen(ctx, vault, id, o.server, all)
	if err != nil {
		return err
	}
	began := time.Now()
	got, err := backup.Verify{Vault: vault, Keys: keys, Percent: percent, Workers: o.parallel, Pace: o.pace(), Doing: v.doing(o.json)}.Run(ctx, chain...)
	v.wipe()
	if err != nil && len(got) == 0 {
		return err
	}
	took := time.Since(began)
	return errors.Join(err, v.Answer(o.json, view.VerifyDocument(s.URL(), got, took), view.Verified(got, took, shell.Screen(v.Out))))
}

// chosen gives the backups that are meant: one with what it needs, or all. Of all, one that is not believed
// is an error: it may be the one that is needed.
func chosen(ctx context.Context, vault backup.Vault, id, server string, all bool) ([]manifest.Manifest, error) {
	if !all {
		m, err := vault.Find(ctx, id, server)
		if err != nil {
			return nil, err
		}
		return vault.Chain(ctx, m)
	}
	found, err := vault.List(ctx)
	if err != nil {
		return nil, err
	}
	var wanted []manifest.Manifest
	for _, f := range found {
		if f.Err != nil {
			return nil, fmt.Errorf("backup %s: %w", f.ID, f.Err)
		}
		if server == "" || f.Server == server {
			wanted = append(wanted, f.Manifest)
		}
	}
	if len(wanted) == 0 {
		return nil, vault.None(server)
	}
	return wanted, nil
}
