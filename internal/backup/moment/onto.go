package moment

import (
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
	"plumb/internal/protect"
)

// Based gives the backup of a point, and what it tells of that, as one that Plan takes.
func (r Restore) Based(m manifest.Manifest, told protect.Point) (manifest.Manifest, error) {
	based, _, _, err := r.based(m, told)
	return based, err
}

// based gives also who brings it forward, and where the server saw each dataset.
func (r Restore) based(m manifest.Manifest, told protect.Point) (based manifest.Manifest, e PointEngine, where map[string]string, err error) {
	i := slices.IndexFunc(r.Engines, func(e Engine) bool { _, is := e.(PointEngine); return is && e.Knows(m) })
	if i < 0 {
		return m, nil, nil, hint.With(fmt.Errorf("backup %s is of a point of %s, onto which no log is replayed", m.ID, told.Server.Product),
			"restore it without --to; docs/archive.md says which backups can be brought to a moment")
	}
	e = r.Engines[i].(PointEngine)
	if based, err = e.Based(m, told); err == nil {
		where, err = mountpoints(told)
	}
	if err != nil {
		err = fmt.Errorf("bring backup %s to a moment: %w", m.ID, err)
	}
	return based, e, where, err
}

// mountpoints gives where the server saw each dataset of a point. Of one that it saw in two places, or of which it saw a part, what is to
// be where cannot be restored by mounting it once.
func mountpoints(told protect.Point) (map[string]string, error) {
	at, of := map[string]string{}, map[string]string{}
	for _, m := range told.Members {
		name, _, _ := strings.Cut(m.Snapshot, "@")
		had, twice := at[name]
		other, covered := of[m.Mountpoint]
		if twice && had != m.Mountpoint || covered && other != name || m.Within != "" {
			return nil, hint.With(fmt.Errorf("the server had a part of %s mounted, or had it in several places, or another over it", name), "--start looks into it; without --to it is restored as it is")
		}
		at[name], of[m.Mountpoint] = m.Mountpoint, name
	}
	return at, nil
}

// aside is the directory for what is not to stay, beside the datasets: what ZFS would mount there is none of a server's.
const aside = ".plumb-restore"

// births gives in which transaction group the snapshot of each dataset was made.
func births(told protect.Point) map[string]string {
	of := map[string]string{}
	for _, m := range told.Members {
		name, _, _ := strings.Cut(m.Snapshot, "@")
		of[name] = m.Birth
	}
	return of
}

// Onto restores the backup of a point to datasets below another, which are mounted, and brings the server in them to the moment. It gives
// the directory of the server's data. What is there of an earlier restore is gone on with, and what a killed one has replayed is taken back.
func (r Restore) Onto(ctx context.Context, m manifest.Manifest, told protect.Point, to Place, a Asked) (w Way, data string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("restore backup %s to %s: %w", m.ID, to.Dir, err)
		}
	}()
	based, e, where, err := r.based(m, told)
	if err != nil {
		return w, "", err
	}
	if err := e.Ready(ctx, r.Do, based, At{UID: to.UID, GID: to.GID, Asked: a}); err != nil {
		return w, "", err
	}
	if w, _, err = r.Plan(ctx, based, a); err != nil {
		return w, "", err
	}
	told.Server.UID, told.Server.GID = to.UID, to.GID
	as, mounting, names := told.Server.As(r.Do.About().Root), backup.Mounting{Where: where, Born: births(told)}, []string(nil)
	if len(as) > 0 {
		mounting.Owner = fmt.Sprintf("%d:%d", to.UID, to.GID)
	}
	r.Tidy(ctx)
	all, err := r.Mounted(ctx, m, to.Dir, mounting, func(root string) (err error) {
		book, err := r.Landing(ctx, m)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, book.Close(context.WithoutCancel(ctx))) }() // before what is restored may be taken back
		at := At{Root: root, Data: path.Join(root, told.Server.Dir("data")), Aside: path.Join(root, aside), UID: to.UID, GID: to.GID, As: as, Asked: a}
		at.Dir, data, at.Start = at.Data, at.Data, r.starts(book)
		if err := book.Tree(ctx, inventory.Thing{Name: at.Aside}, 0o711); err != nil {
			return err
		}
		if err := e.Onto(ctx, r.Do, r.Shelf(), &w, told, at); err != nil {
			return r.full(ctx, at.Data, err)
		}
		return nil
	})
	var lacks []string
	for _, one := range all {
		names = append(names, one.Dataset)
		if text := backup.Lacking(m, one); text != "" {
			lacks = append(lacks, text)
		}
	}
	if err == nil {
		w.Next = append(append(lacks, w.Next...), "to have it mounted whenever the machine starts: zfs set canmount=on "+strings.Join(names, "; zfs set canmount=on "))
	}
	return w, data, err
}
