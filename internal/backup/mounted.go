package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/await"
	"plumb/internal/backup/manifest"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/zfs"
)

// momentProperty says of a dataset that was restored that more was done with it than to receive it.
const momentProperty = "org.plumb:moment"

// What it says.
const (
	changing = "replaying" // a run that was killed left it so: it is taken back to what was received
	changed  = "replayed"
)

// markOf reads it among all properties of a dataset. Those below have it too, and were not meant.
func markOf(all []zfs.Property) string {
	if p := zfs.Named(all, momentProperty); p.Source == "local" {
		return p.Value
	}
	return ""
}

// Mounting says how what was restored is mounted below one directory.
type Mounting struct {
	Where map[string]string // each dataset, by its name when it was backed up
	// Born is in which transaction group of its pool the snapshot of each was made. Whatever has it there from that one is what was backed
	// up, under whichever name: what is received gets it in another.
	Born  map[string]string
	Owner string // UID:GID of who gets all files; "" to leave them
}

// Mounted restores a backup as Datasets does, mounts all of it below one directory, and has it changed there. If the change fails, or is
// killed, what was received is there again, for the next restore to go on with.
func (r Restore) Mounted(ctx context.Context, m manifest.Manifest, target string, to Mounting, change func(root string) error) ([]Received, error) {
	return r.datasets(ctx, m, target, to.Born, func(all []Received) (err error) {
		names := map[string]string{}
		for _, one := range all {
			names[one.From] = one.Dataset
		}
		defer func() {
			if err != nil {
				after := context.WithoutCancel(ctx)
				there, bad := r.there(after, target)
				if bad == nil {
					var had map[string][]zfs.Property
					if had, bad = r.had(after, names, there); bad == nil {
						bad = r.takeBack(after, []manifest.Manifest{m}, names, had)
					}
				}
				err = errors.Join(err, bad)
			}
		}()
		root, alt, err := r.root(ctx, m, target)
		if err != nil {
			return err
		}
		if err := r.mountAll(ctx, all, root, alt, to); err != nil {
			return err
		}
		if err := change(root); err != nil {
			return err
		}
		return r.mark(ctx, all, changed)
	})
}

// mountAll mounts datasets below a root, and lets others enter that then: until all is there nobody can put a link to where something is
// mounted. Who gets the files had another number, perhaps, where they were backed up. Links are not followed, and rights that go with a
// program are lost.
func (r Restore) mountAll(ctx context.Context, all []Received, root, alt string, to Mounting) error {
	all = slices.SortedFunc(slices.Values(all), func(a, b Received) int { return cmp.Compare(to.Where[a.From], to.Where[b.From]) }) // what is mounted in another comes later
	give := []string{"chown", "-R", "-P", "-h", to.Owner, "--"}
	for _, one := range all {
		dir := path.Join(root, to.Where[one.From])
		if dir == root || slices.Contains(give, dir) {
			return fmt.Errorf("where %s is to be mounted is not known", one.Dataset)
		}
		if err := r.mount(ctx, one.Dataset, root, alt, dir); err != nil {
			return fmt.Errorf("mount %s on %s: %w", one.Dataset, dir, err)
		}
		give = append(give, dir)
	}
	if to.Owner != "" {
		if _, err := r.Do.Pipe(ctx, host.Pipe{Argv: give, Works: true}); err != nil {
			return err
		}
	}
	_, err := r.Do.Run(ctx, "chmod", "711", "--", root)
	return err
}

// mark writes down for all of some datasets how far they are.
func (r Restore) mark(ctx context.Context, all []Received, as string) error {
	for _, one := range all {
		if _, err := r.Do.Run(ctx, zfs.Set(momentProperty, as, one.Dataset)...); err != nil {
			return err
		}
	}
	return nil
}

// root makes the directory below which a backup is mounted, in the place where ZFS would mount the target. Only root enters it. alt is
// the directory under which the pool was imported.
func (r Restore) root(ctx context.Context, m manifest.Manifest, target string) (root, alt string, err error) {
	if alt, err = r.altroot(ctx, target); err != nil {
		return "", "", err
	}
	out, err := r.Do.Output(ctx, zfs.Value("mountpoint", target)...)
	if err != nil {
		return "", "", err
	}
	at := strings.TrimSpace(string(out))
	if !path.IsAbs(at) {
		return "", "", hint.With(fmt.Errorf("the mountpoint of %s is %s, so what is restored below it can be mounted nowhere", target, at), "zfs set mountpoint=/srv/restored "+target+", and restore again: nothing is read twice")
	}
	if _, err := r.Do.Run(ctx, "mkdir", "-p", "-m", "711", "--", at); err != nil {
		return "", "", err
	}
	if at, err = host.OnlyOurs(at); err != nil {
		return "", "", err
	}
	if alt != "" {
		if alt, err = host.OnlyOurs(alt); err != nil { // without links, as the other
			return "", "", err
		}
	}
	root = path.Join(at, m.ID[max(0, len(m.ID)-8):]) // a short name
	if _, err := r.Do.Run(ctx, "mkdir", "-p", "-m", "700", "--", root); err != nil {
		return "", "", err
	}
	_, err = r.Do.Run(ctx, "chmod", "700", "--", root)
	return root, alt, err
}

// altroot is the directory under which the pool of a dataset was imported (zpool import -R), as on a machine that was started to rescue
// another; "" for none. ZFS shows mount points with it before them, and takes them without.
func (r Restore) altroot(ctx context.Context, dataset string) (string, error) {
	fuse, err := r.Fuse(ctx, dataset)
	if err != nil {
		return "", err
	}
	tools := zfs.Tools{Fuse: fuse}
	out, err := r.Do.Output(ctx, tools.PoolProperties(zfs.PoolOf(dataset))...)
	if err != nil {
		return "", err
	}
	alt := zfs.Named(tools.ParsePool(out), "altroot").Value
	if !path.IsAbs(alt) { // "-"
		return "", nil
	}
	return strings.TrimSuffix(alt, "/"), nil
}

// mount mounts a dataset, which says first that it is being changed. Files in it are no devices, and no program gains rights, whenever it is
// mounted: who had the host on which it was backed up could have put them there, to be given to the server's user here. Its snapshots are not
// among its files, as they are where others are shown: nothing in them can be given away.
func (r Restore) mount(ctx context.Context, dataset, root, alt, dir string) error {
	if err := r.mark(ctx, []Received{{Dataset: dataset}}, changing); err != nil {
		return err
	}
	if err := host.MakeWay(ctx, r.Do, root, dir); err != nil {
		return err
	}
	for _, set := range [][2]string{{"devices", "off"}, {"setuid", "off"}, {"snapdir", "hidden"}, {"mountpoint", strings.TrimPrefix(dir, alt)}} {
		if err := r.patient(ctx, zfs.Set(set[0], set[1], dataset)); err != nil {
			return err
		}
	}
	is, err := r.isMounted(ctx, dataset)
	if err == nil && !is { // zfs-fuse mounts it with the property
		err = r.patient(ctx, zfs.Mount(dataset))
	}
	if err != nil {
		return r.locked(ctx, dataset, err)
	}
	all, err := observe.MountTable(ctx, r.Do, "self")
	if at, is := observe.Holding(all, dir); err == nil && (!is || at.Point != dir || at.Source != dataset) {
		err = errors.New("something else is there")
	}
	if err == nil { // zfs-fuse ignores the two properties
		_, err = r.Do.Run(ctx, "mount", "-o", "remount,bind,nosuid,nodev", "--", dir)
	}
	return err
}

// locked adds to what went wrong that a dataset is encrypted, if its key is missing: it came as it was, and its key is in no backup.
func (r Restore) locked(ctx context.Context, dataset string, err error) error {
	out, unknown := r.Do.Output(ctx, zfs.Value("keystatus", dataset)...)
	if unknown == nil && strings.TrimSpace(string(out)) == "unavailable" {
		err = hint.With(err, "zfs load-key "+dataset+", and restore again: nothing is read twice")
	}
	return err
}

func (r Restore) isMounted(ctx context.Context, dataset string) (bool, error) {
	out, err := r.Do.Output(ctx, zfs.Value("mounted", dataset)...)
	return strings.TrimSpace(string(out)) == "yes", err
}

// takeBack takes datasets that a killed run was changing back to what was received: to the last of a chain of backups that they have, as it
// may have been a restore of an earlier one. names are those of a backup's datasets by what they were when it was made, had the properties
// of those that are there.
func (r Restore) takeBack(ctx context.Context, chain []manifest.Manifest, names map[string]string, had map[string][]zfs.Property) error {
	type begun struct{ dataset, at, snapshot string }
	var all []begun
	for from, dataset := range names {
		properties := had[dataset]
		if markOf(properties) != changing {
			continue
		}
		snapshots, err := r.snapshots(ctx, dataset)
		if err != nil {
			return err
		}
		one := begun{dataset: dataset, at: zfs.Named(properties, "mountpoint").Value}
		for _, m := range chain {
			one.snapshot = cmp.Or(snapshots[streamOf(m, from).GUID], one.snapshot)
		}
		if one.snapshot == "" {
			return hint.With(fmt.Errorf("%s was being changed by a restore, and has no snapshot of this backup to take it back to", dataset),
				"restore to another dataset, or destroy what is left there: zfs destroy -r "+dataset)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b begun) int { return cmp.Compare(b.at, a.at) }) // what is mounted in another comes first
	for _, one := range all {
		if err := r.unmount(ctx, one.dataset); err != nil {
			return fmt.Errorf("take %s back to what was received: %w", one.dataset, err)
		}
	}
	for _, one := range all {
		for _, argv := range [][]string{zfs.Rollback(one.snapshot), zfs.Inherit("mountpoint", one.dataset), zfs.Inherit(momentProperty, one.dataset)} {
			if err := r.patient(ctx, argv); err != nil {
				return fmt.Errorf("take %s back to what was received: %w", one.dataset, err)
			}
		}
	}
	return nil
}

// patient runs a command of ZFS while that calls a dataset busy: zfs-fuse does so for a while after it was received, or its last user has gone.
func (r Restore) patient(ctx context.Context, argv []string) error {
	return await.WhileBusy(ctx, 20*time.Second, func() error {
		_, err := r.Do.Run(ctx, argv...)
		return err
	})
}

// unmount unmounts a dataset that is mounted.
func (r Restore) unmount(ctx context.Context, dataset string) error {
	is, err := r.isMounted(ctx, dataset)
	if err == nil && is {
		err = r.patient(ctx, zfs.Unmount(dataset))
	}
	return err
}
