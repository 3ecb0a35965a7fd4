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
	Under   string           // a dataset, or a directory on btrfs, in which one is made to restore to
	Keeper  *protect.Keeper  // whose storages clone what was restored
	Prove   replicate.Prover // starts a copy of a point
}

// Run restores a backup of a point, and what it needs, and has a copy started. That the copy did not start, or was not whole, is
// in what is given, and no error. The notes say what was not sure of the point.
func (p Proof) Run(ctx context.Context, m manifest.Manifest) (d protect.Drill, notes []string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("prove backup %s: %w", m.ID, err)
		}
	}()
	if err := p.possible(ctx, backup.KindOf(m)); err != nil {
		return d, nil, err
	}
	told, err := Told(ctx, p.Restore, m)
	if err != nil {
		return d, nil, err
	}
	book, err := p.Restore.Book(ctx, proofs, runOf(m))
	if err != nil {
		return d, nil, err
	}
	defer func() { err = errors.Join(err, book.Close(context.WithoutCancel(ctx))) }() // which takes it all away
	at, all, err := p.restored(ctx, book, m)
	if err != nil {
		return d, nil, err
	}
	if told, err = Here(ctx, p.Restore, p.Keeper, told, all, at); err != nil {
		return d, nil, err
	}
	d, err = p.Prove(ctx, told)
	return d, Doubts(told), err
}

// Doubts says what was not sure of a point when it was taken. A copy that starts does not say otherwise: it has prepared transactions
// open, or lacks what the server had not written yet.
func Doubts(told protect.Point) (notes []string) {
	for _, d := range told.Doubts {
		notes = append(notes, "the point was taken with a doubt: "+d)
	}
	return notes
}

// proofs is how the books of proofs are called.
const proofs = "verify-"

func runOf(m manifest.Manifest) string { return proofs + strings.ToLower(m.ID) }

// restored restores a backup where it goes with the book.
func (p Proof) restored(ctx context.Context, book *inventory.Book, m manifest.Manifest) (at string, all []backup.Received, err error) {
	if backup.KindOf(m) == manifest.Btrfs {
		return p.landed(ctx, book, m)
	}
	if at, err = p.scratch(ctx, book, m); err != nil {
		return at, nil, err
	}
	all, err = p.Restore.Datasets(ctx, m, at)
	return at, all, err
}

// landed restores one of btrfs.
func (p Proof) landed(ctx context.Context, book *inventory.Book, m manifest.Manifest) (string, []backup.Received, error) {
	tree, err := backup.NewDirectory(ctx, p.Restore.Do, path.Join(p.Under, "plumb-"+runOf(m)))
	if err != nil {
		return "", nil, err
	}
	return p.Restore.Land(ctx, book, m, tree)
}

// possible looks for the dataset before anything is written down.
func (p Proof) possible(ctx context.Context, kind manifest.Kind) error {
	switch onBtrfs := strings.HasPrefix(p.Under, "/"); {
	case onBtrfs && kind == manifest.ZFS:
		return hint.Usage(fmt.Sprintf("%q is a directory, and the backup is of ZFS", p.Under), "name a dataset that has room for it: tank")
	case !onBtrfs && kind == manifest.Btrfs:
		return hint.Usage(fmt.Sprintf("%q is not a path, and the backup is of btrfs", p.Under), "name a directory on one that has room for it: /srv")
	case onBtrfs:
		st, err := p.Restore.Do.Stat(ctx, p.Under)
		if err == nil && !st.Mode.IsDir() {
			err = fmt.Errorf("%s is not a directory", p.Under)
		}
		return hint.With(err, "name a directory that exists and has room for the backup: it is restored below it, and then removed")
	}
	if !zfs.IsDataset(p.Under) {
		return hint.Usage(fmt.Sprintf("%q is not a dataset", p.Under), "name one that has room for the backup: tank")
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
		return hint.With(fmt.Errorf("there is no dataset %s", p.Under), "name one that exists and has room for the backup")
	}
	return nil
}

// Told reads what a backup says of its point.
func Told(ctx context.Context, r backup.Restore, m manifest.Manifest) (protect.Point, error) {
	number := slices.IndexFunc(m.Streams, func(s manifest.Stream) bool { return s.Kind == manifest.Point })
	if number < 0 {
		return protect.Point{}, hint.With(errors.New("it is not of a point, so which server starts on it is not known"), "a base of pg_basebackup or mariadb-backup is proven in a directory: --restore /srv/scratch; for the output of another command start the server by hand")
	}
	if n := m.Streams[number].Bytes; n > most {
		return protect.Point{}, fmt.Errorf("it says %d bytes of its point, and %d are the most", n, most)
	}
	var text bytes.Buffer
	if err := r.Stream(ctx, m, number, &text); err != nil {
		return protect.Point{}, err
	}
	told, err := replicate.HearAny(&text, m.Point)
	told.State = protect.Taken
	return told, err
}

// Here gives a point that was told as one of this host: its snapshots are those that were restored at a dataset or directory.
func Here(ctx context.Context, r backup.Restore, k *protect.Keeper, told protect.Point, all []backup.Received, at string) (protect.Point, error) {
	if strings.HasPrefix(at, "/") {
		return landed(ctx, r, k, told, all)
	}
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

// landed gives it with the subvolumes that were restored.
func landed(ctx context.Context, r backup.Restore, k *protect.Keeper, told protect.Point, all []backup.Received) (protect.Point, error) {
	s, err := k.StorageOf(protect.Volume{Storage: string(manifest.Btrfs)})
	if err != nil {
		return told, err
	}
	locator, is := s.(protect.Locator)
	if !is {
		return told, fmt.Errorf("what was restored to %s cannot be cloned", s.Name())
	}
	for i, m := range told.Members {
		n := slices.IndexFunc(all, func(r backup.Received) bool { return r.GUID == m.GUID })
		if n < 0 {
			return told, fmt.Errorf("the snapshot %s of its point is not in it", m.Snapshot)
		}
		here, err := locator.At(ctx, r.Do, all[n].Dataset)
		if err != nil {
			return told, err
		}
		here.Mountpoint, here.Within = m.Mountpoint, m.Within
		told.Members[i] = here
	}
	return told, nil
}

// most is how much a point may say of itself, in bytes.
const most = 1 << 20

// scratch makes the dataset to restore to. It is in the inventory before it is there, so that the next Plumb takes it away
// when this one is killed.
func (p Proof) scratch(ctx context.Context, book *inventory.Book, m manifest.Manifest) (string, error) {
	run := runOf(m)
	name := p.Under + "/plumb-" + run
	t := inventory.Thing{Kind: inventory.Dataset, Name: name, Proof: map[string]string{"run": run, "below": strings.Join(backup.Below(m), " ")}}
	_, err := book.Make(ctx, t, func(*inventory.Thing) error {
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
