package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/backup/prove"
	"plumb/internal/backup/store"
	"plumb/internal/cli/backup/upkeep"
	"plumb/internal/cli/protect/machine"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/value"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/protect/clone"
	view "plumb/internal/view/backup"
)

func (v *verbs) list() *cobra.Command {
	var p place
	var file upkeep.Textfile
	note := false
	c := &cobra.Command{
		Use:   "list --from URL",
		Short: "list the backups of a store",
		Long: `List shows the backups below a URL, oldest first, and who signed each. --textfile
also writes for node_exporter how many there are, when the newest was made and when
one was last restored; docs/backup.md has alert rules for that. --note records the
same on this host, for plumb check and plumb watch, if the backups are its own,
including what another machine proved that --trust names.

` + shell.ReadExits,
		Example: "  plumb backup list --from s3://backups/db1",
		Args:    shell.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := file.Validate(); err != nil {
				return err
			}
			return v.on(p, func(d *host.LiveDoer, s store.Store) error {
				vault, err := p.vault(c.Context(), d, s)
				if err != nil {
					return err
				}
				all, err := vault.List(c.Context())
				if err != nil {
					return err
				}
				if err := file.Write(s.URL(), all); err != nil {
					return err
				}
				behind, err := v.moments.Logs.Behind(c.Context(), []backup.Vault{vault}, believed(all)...)
				v.Warn("look for the logs after the backups", err)
				if note {
					m, err := p.memory(d)
					if err == nil {
						err = m.Listed(c.Context(), p.spot(s, p.urls[0]), all, behind)
					}
					if err != nil {
						return err
					}
				}
				return v.Answer(p.json, view.ListDocument(s.URL(), all, behind), view.List(s.URL(), all, behind, shell.Screen(v.Out)))
			})
		},
	}
	p.flags(c, "from", oneURL)
	p.trustFlag(c)
	file.Flags(c)
	c.Flags().BoolVar(&note, "note", false, "record the result on this host, for plumb check and plumb watch")
	return c
}

// believed gives those of some backups that are.
func believed(all []backup.Found) (m []manifest.Manifest) {
	for _, f := range all {
		if f.Err == nil {
			m = append(m, f.Manifest)
		}
	}
	return m
}

// from is where backups are that are there, for the commands of upkeep.
type from struct {
	Place
	v *verbs
}

// Flags implements upkeep.Place.
func (f *from) Flags(c *cobra.Command) { f.FromFlags(c) }

// On implements upkeep.Place.
func (f *from) On(do func(d *host.LiveDoer, s store.Store) error) error { return f.v.on(f.place, do) }

// Vault implements upkeep.Place.
func (f *from) Vault(ctx context.Context, d host.Doer, s store.Store) (backup.Vault, error) {
	return f.vault(ctx, d, s)
}

func oneID(c *cobra.Command, args []string) error {
	if len(args) > 1 {
		return hint.Usage(c.CommandPath()+" takes one ID at most", "plumb backup list shows them")
	}
	return nil
}

// target is where a backup is restored to.
type target struct {
	into, output, command, stream string
	force                         bool
	start                         string // what the copy is called that is started on it
	memory                        value.Size
}

func (v *verbs) restore() *cobra.Command {
	var o opening
	var t target
	var l later
	c := &cobra.Command{
		Use:   "restore [ID] --from URL --identity FILE (--into TARGET [--to MOMENT] | --output FILE | --command LINE | --dir DIR --to MOMENT)",
		Short: "restore a backup to datasets, a file, a command or a moment",
		Long: `Restore reads a backup (the newest, without ID) and what it needs. Several objects
are fetched at once; each is compared with the signed manifest, decrypted and
unpacked before a byte of it is passed on, in the order of the stream. A backup
that no trusted host signed is not touched.

--into DATASET receives ZFS streams into new datasets below it, and mounts
nothing. What an earlier run has received completely is kept. --into /DIRECTORY
receives btrfs streams into a new directory that only root can enter, and that
appears once all subvolumes in it are complete.

--start NAME starts a server on a clone of what was restored, to look around and
copy data out: without its identity, replication and outward connections, as the
user plumb-verify without network, answering root on a socket. plumb clone list
shows it, and plumb clone drop removes it.

--to brings a server to a moment: the log that plumb archive has kept is replayed
up to it. What was committed at that moment or later is not replayed. All of that
log is read before anything is written, and a missing part is refused. --to base
replays nothing, and needs no archive. With --dir it unpacks a base backup (what
pg_basebackup or mariadb-backup gave to plumb backup). With --into DATASET it
restores a point on ZFS, and mounts it. A MariaDB or MySQL in it is then brought to
the moment; a PostgreSQL is given the log, and replays it when you start it.

` + exits,
		Example: `  plumb restore --from s3://backups/db1 --identity key.txt --trust db1.pub --into tank/restored
  plumb restore --from s3://backups/db1 --identity key.txt --trust db1.pub --into /srv/restored
  plumb restore 20261125T1200 --from file:///mnt/nas/db1 --identity key.txt --command 'mbstream -x -C /srv/restored'
  plumb restore --from s3://backups/db1 --identity key.txt --dir /srv/pg --user postgres --to '2026-11-26 03:12:00 UTC'
  plumb restore --from s3://backups/db1 --identity key.txt --into tank/restored --user postgres --to latest`,
		Args: oneID,
		RunE: func(c *cobra.Command, args []string) error {
			if err := l.check(c, t); err != nil {
				return err
			}
			if err := t.check(); err != nil {
				return err
			}
			return v.opened(c.Context(), o, args, func(v opened) error {
				if l.meant() {
					return v.moment(c.Context(), l, t.into)
				}
				return v.bring(c.Context(), t)
			})
		},
	}
	o.flags(c)
	t.flags(c)
	l.flags(c)
	shell.OnlyWith(c, "stream", "output", "command")
	shell.OnlyWith(c, "force", "output")
	shell.OnlyWith(c, "start", "into")
	shell.OnlyWith(c, "memory", "start")
	c.MarkFlagsMutuallyExclusive("into", "output", "command", "dir")
	c.MarkFlagsMutuallyExclusive("start", "to")
	c.MarkFlagsOneRequired("into", "output", "command", "dir")
	if err := c.MarkFlagRequired("identity"); err != nil {
		panic(err)
	}
	return c
}

func (t *target) flags(c *cobra.Command) {
	c.Flags().StringVar(&t.into, "into", "", "receive ZFS streams below this dataset, or btrfs streams into this new directory (`TARGET`)")
	c.Flags().StringVarP(&t.output, "output", "o", "", "write one stream to a `FILE`; - for standard output")
	c.Flags().StringVar(&t.command, "command", "", "pipe one stream into this shell `LINE`")
	c.Flags().StringVar(&t.stream, "stream", "", "`NAME` of the stream, if the backup has several")
	c.Flags().StringVar(&t.start, "start", "", "with --into: start a copy named `NAME` on what was restored")
	c.Flags().Var(&t.memory, "memory", "with --start: limit the copy's server to this `SIZE` of memory; default: 512M")
	c.Flags().BoolVar(&t.force, "force", false, "replace an existing file")
}

// check refuses a file that could not be written in the end.
func (t target) check() error {
	if t.output == "-" {
		return nil
	}
	return shell.RoomFor("--output", t.output, t.force)
}

// fits refuses a file for which there is no room, before hours of fetching. A device or a pipe is none.
func (t target) fits(ctx context.Context, h host.Reader, bytes int64) error {
	if st, err := os.Stat(t.output); err == nil && !st.Mode().IsRegular() {
		return nil
	}
	dir, err := filepath.Abs(filepath.Dir(t.output))
	if err != nil {
		return err
	}
	return backup.Fits(ctx, h, dir, bytes)
}

// bring brings a backup back.
func (v opened) bring(ctx context.Context, t target) error {
	m, err := v.find(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	r := v.restoring(v.doing(v.o.json || t.output == "-"))
	if t.into != "" {
		if r.Books, err = v.o.books(); err != nil {
			return err
		}
	}
	var all []backup.Received
	var told protect.Point
	if t.start != "" { // before hours of restoring
		if told, err = prove.Told(ctx, r, m); err != nil {
			return fmt.Errorf("start a copy of backup %s: %w", m.ID, err)
		}
		for _, doubt := range prove.Doubts(told) {
			v.Warn("backup "+m.ID, errors.New(doubt))
		}
	}
	switch {
	case strings.HasPrefix(t.into, "/"):
		all, err = r.Subvolumes(ctx, m, t.into)
	case t.into != "":
		all, err = r.Datasets(ctx, m, t.into)
	default:
		all, err = v.one(ctx, r, m, t)
	}
	v.wipe()
	if err != nil || t.output == "-" {
		return err
	}
	took := time.Since(began)
	var running []clone.Clone
	if t.start != "" {
		one, err := v.started(ctx, r, t, told, all)
		if err != nil {
			return err
		}
		running = append(running, one)
	}
	return v.Answer(v.o.json, view.RestoreDocument(m, all, running, took), view.Restored(m, all, running, took, shell.Screen(v.Out)))
}

// started starts a copy on what was restored.
func (v opened) started(ctx context.Context, r backup.Restore, t target, told protect.Point, all []backup.Received) (one clone.Clone, err error) {
	err = v.On(machine.At(v.o.state), func(here *machine.Machine) error {
		point, err := prove.Here(ctx, r, here.Keeper, told, all, t.into)
		if err != nil {
			return err
		}
		one, err = here.Clones.Make(ctx, point, clone.Options{Name: t.start, Purpose: protect.ForUse, Memory: int64(t.memory), Stranger: true})
		v.Done()
		return err
	})
	if err != nil {
		err = fmt.Errorf("it is restored, but a server failed to start on it: %w", err)
	}
	return one, err
}

// one brings one stream back.
func (v opened) one(ctx context.Context, r backup.Restore, m manifest.Manifest, t target) ([]backup.Received, error) {
	number, err := streamOf(m, t.stream)
	if err != nil {
		return nil, err
	}
	s := m.Streams[number]
	if s.Base != nil {
		return nil, hint.With(fmt.Errorf("%s of backup %s contains only what changed since backup %s", s.Name, m.ID, s.Base.Backup), "--into restores both")
	}
	write := func(w io.Writer) error { return r.Stream(ctx, m, number, w) }
	switch {
	case t.output == "-":
		err = write(v.Out)
	case t.output != "":
		err = shell.WriteFile(t.output, t.force, func(w io.Writer) error { // which has removed what a killed run left
			if err := t.fits(ctx, v.do, s.Bytes); err != nil {
				return err
			}
			return write(w)
		})
	default:
		err = r.Command(ctx, m, number, t.command)
	}
	return []backup.Received{{Dataset: cmp.Or(t.output, backup.Told(t.command)), From: s.Name, Bytes: s.Bytes}}, err
}

func streamOf(m manifest.Manifest, name string) (int, error) {
	var names []string
	for i, s := range m.Streams {
		if s.Name == name || name == "" && len(m.Streams) == 1 {
			return i, nil
		}
		names = append(names, s.Name)
	}
	if name == "" {
		return 0, hint.Usage(fmt.Sprintf("backup %s has several streams: name one", m.ID), "--stream "+strings.Join(names, ", or "))
	}
	return 0, hint.Usage(fmt.Sprintf("backup %s has no stream %q", m.ID, name), "it has "+strings.Join(names, ", "))
}
