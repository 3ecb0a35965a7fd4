// Package prove restores a backup beside everything, has a server started on it, and throws
// it away: only that proves that the backup is good for anything.
package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/backup"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
	"plumb/internal/protect/replicate"
	"plumb/internal/zfs"
)

// Proof says how backups are proven.
type Proof struct {
	Restore backup.Restore
	Under   string           // a dataset, in which one is made to restore to
	Books   string           // directory of the inventory
	Prove   replicate.Prover // starts a copy of a point
}

// Run restores a backup of a point, and what it needs, and has a copy started. That the copy did not start, or was not whole, is
// in what is given, and no error.
func (p Proof) Run(ctx context.Context, m manifest.Manifest) (d protect.Drill, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prove backup %s: %w", m.ID, err)
		}
	}()
	if err := p.possible(ctx); err != nil {
		return d, err
	}
	told, err := Told(ctx, p.Restore, m)
	if err != nil {
		return d, err
	}
	log, err := inventory.Open(ctx, p.Restore.Do, kinds.All(), p.Books, "verify-"+strings.ToLower(m.ID))
	if err != nil {
		return d, err
	}
	defer func() { err = errors.Join(err, log.Close(context.WithoutCancel(ctx))) }() // which takes it all away
	at, err := p.scratch(ctx, log, m)
	if err != nil {
		return d, err
	}
	all, err := p.Restore.Datasets(ctx, m, at)
	if err != nil {
		return d, err
	}
	if told, err = Here(ctx, p.Restore, told, all, at); err != nil {
		return d, err
	}
	return p.Prove(ctx, told)
}

// possible looks for the dataset before anything is written down.
func (p Proof) possible(ctx context.Context) error {
	if !zfs.IsDataset(p.Under) {
		return hint.Usage(fmt.Sprintf("%q is no dataset", p.Under), "name one that has room for the backup: tank")
	}
	pools, err := p.Restore.Do.Output(ctx, zfs.Pools()...)
	if err != nil {
		return err
	}
	there := slices.Contains(zfs.Names(pools), zfs.PoolOf(p.Under))
	if there {
		all, err := p.Restore.Do.Output(ctx, zfs.Below(zfs.PoolOf(p.Under))...)
		if err != nil {
			return err
		}
		there = slices.Contains(zfs.Names(all), p.Under)
	}
	if !there {
		return hint.With(fmt.Errorf("there is no dataset %s", p.Under), "name one that is there and has room for the backup")
	}
	return nil
}

// Told reads what a backup says of its point.
func Told(ctx context.Context, r backup.Restore, m manifest.Manifest) (protect.Point, error) {
	number := slices.IndexFunc(m.Streams, func(s manifest.Stream) bool { return s.Kind == manifest.Point })
	if number < 0 {
		return protect.Point{}, hint.With(errors.New("it is not of a point, so nobody knows which server starts on it"), "a base of pg_basebackup or mariadb-backup is proven in a directory: --restore /srv/scratch; of what else a command gave start the server by hand")
	}
	if n := m.Streams[number].Bytes; n > most {
		return protect.Point{}, fmt.Errorf("it says %d bytes of its point, and %d are the most", n, most)
	}
	var text bytes.Buffer
	if err := r.Stream(ctx, m, number, &text); err != nil {
		return protect.Point{}, err
	}
	told, err := replicate.Hear(&text, m.Point)
	told.State = protect.Taken
	return told, err
}

// Here gives a point that was told as one of this host: its snapshots are those that were restored at a dataset.
func Here(ctx context.Context, r backup.Restore, told protect.Point, all []backup.Received, at string) (protect.Point, error) {
	fuse, err := r.Fuse(ctx, at)
	if err != nil {
		return told, err
	}
	if told.Members, err = received(told.Members, all, fuse); err != nil {
		return told, err
	}
	for i, one := range told.Members {
		born, err := r.Do.Output(ctx, zfs.Value("createtxg", one.Snapshot)...)
		if err != nil {
			return told, err
		}
		told.Members[i].Birth = strings.TrimSpace(string(born))
	}
	return told, nil
}

// most is how much a point may say of itself, in bytes.
const most = 1 << 20

// scratch makes the dataset to restore to. It is in the inventory before it is there, so that the next Plumb takes it away
// when this one is killed.
func (p Proof) scratch(ctx context.Context, log *inventory.Log, m manifest.Manifest) (string, error) {
	run := "verify-" + strings.ToLower(m.ID)
	name := p.Under + "/plumb-" + run
	t := inventory.Thing{Kind: inventory.Dataset, Name: name, Proof: map[string]string{"run": run, "below": strings.Join(backup.Below(m), " ")}}
	_, err := log.Make(ctx, t, func(*inventory.Thing) error {
		_, err := p.Restore.Do.Run(ctx, zfs.Create(name, kinds.RunProperty+"="+run, "com.sun:auto-snapshot=false", "mountpoint=none")...)
		return err
	})
	return name, err
}

// received gives the members of a point as they were restored.
func received(members []protect.Member, all []backup.Received, fuse bool) (there []protect.Member, err error) {
	for _, m := range members {
		i := slices.IndexFunc(all, func(r backup.Received) bool { return r.GUID == m.GUID })
		if i < 0 {
			return nil, fmt.Errorf("the snapshot %s of its point is not in it", m.Snapshot)
		}
		_, snapshot, _ := strings.Cut(m.Snapshot, "@")
		m.Name, m.Pool = all[i].Dataset, zfs.PoolOf(all[i].Dataset)
		m.Snapshot, m.Storage, m.Part = m.Name+"@"+path.Base(snapshot), "zfs", false
		if fuse {
			m.Storage = "zfs-fuse"
		}
		there = append(there, m)
	}
	return there, nil
}
