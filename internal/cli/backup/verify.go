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
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/hint"
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
			if !(percent >= 0 && percent <= 100) { // written so that NaN is refused too
				return hint.Usage(fmt.Sprintf("--sample %g is not a percentage", percent), "0 to 100")
			}
			if under != "" && o.identity == "" {
				return hint.Usage("--restore opens the backup, and no key was given", "--identity FILE")
			}
			return v.opened(c.Context(), o, args, func(v opened) error {
				if under != "" {
					return v.prove(c.Context(), under)
				}
				return v.again(c.Context(), all, percent)
			})
		},
	}
	o.flags(c)
	c.Flags().BoolVar(&all, "all", false, "verify all backups")
	c.Flags().StringVar(&under, "restore", "", "restore it below this dataset or in this directory (`PLACE`), start a server on it, and remove both again")
	c.MarkFlagsMutuallyExclusive("restore", "all")
	c.Flags().Float64Var(&percent, "sample", percent, "percentage of objects to read; the first and the last of each stream are always read")
	return c
}

// prove restores a backup and starts a server on it.
func (v opened) prove(ctx context.Context, under string) error {
	m, err := v.find(ctx)
	if err != nil {
		return err
	}
	return v.On(machine.At(v.o.state), func(here *machine.Machine) error {
		got, notes, err := v.proof(ctx, here, m, under)
		v.wipe()
		if err != nil {
			return err
		}
		if err := v.mark(ctx, m, got); err != nil {
			v.Warn("record the result", err)
		}
		err = v.Answer(v.o.json, view.ProofDocument(v.vault.Store.URL(), m, got, notes), view.Proven(m, got, notes, shell.Screen(v.Out)))
		if err == nil && !got.OK {
			err = shell.ErrMarked
		}
		return err
	})
}

// proof proves the backup of a point, and a base, which is in a directory.
func (v opened) proof(ctx context.Context, here *machine.Machine, m manifest.Manifest, under string) (got protect.Drill, notes []string, err error) {
	r := v.restoring(v.follow(new(standing), v.o.json))
	r.Books = here.Keeper.Books
	run := here.Prover(ctx, v.Doing(v.o.json))
	if m.Point != "" || !strings.HasPrefix(under, "/") {
		return prove.Proof{Restore: r, Under: under, Keeper: here.Keeper, Prove: run.Run}.Run(ctx, m)
	}
	uid, gid, err := here.Verifier(ctx)
	if err != nil {
		return got, nil, err
	}
	base := prove.Base{Restore: moment.Restore{Restore: r, Do: v.do, Engines: v.moments.Engines}, Under: under, UID: uid, GID: gid, Lend: here.Scratch.Lent, Prove: run.Run}
	return base.Run(ctx, m)
}

// mark writes down the result: in the store for prune and lists, and on this host for checks.
func (v opened) mark(ctx context.Context, m manifest.Manifest, got protect.Drill) error {
	at, err := backup.At(v.o.state)
	if err != nil {
		return err
	}
	name := shell.Hostname()
	key, _, err := backup.HostKey(ctx, v.do, at, name)
	if err != nil {
		return err
	}
	proof := manifest.Proof{ID: m.ID, At: time.Now().UTC().Truncate(time.Second), Host: name, OK: got.OK, Why: got.Why}
	memory := upkeep.Memory{Do: v.do, Dir: at}
	return errors.Join(v.vault.Mark(ctx, proof, key), memory.Tried(ctx, v.o.spot(v.vault.Store, v.o.urls[0]), m, proof))
}

// again reads backups from the store again.
func (v opened) again(ctx context.Context, all bool, percent float64) error {
	chain, err := chosen(ctx, v.vault, v.id, v.o.server, all)
	if err != nil {
		return err
	}
	began := time.Now()
	got, err := backup.Verify{Vault: v.vault, Keys: v.keys, Percent: percent, Workers: v.o.parallel, Pace: v.o.pace(), Doing: v.doing(v.o.json)}.Run(ctx, chain...)
	v.wipe()
	if err != nil && len(got) == 0 {
		return err
	}
	took := time.Since(began)
	return errors.Join(err, v.Answer(v.o.json, view.VerifyDocument(v.vault.Store.URL(), got, took), view.Verified(got, took, shell.Screen(v.Out))))
}

// chosen returns the backups that are meant: one with those it needs, or all. If all are meant it is an error if
// one is not believed, as it may be the one that will be needed.
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
