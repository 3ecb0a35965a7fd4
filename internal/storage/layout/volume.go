package layout

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/host/mounts"
	"plumb/internal/provision"
	"plumb/internal/zfs"
)

// Volume implements provision.Storage.
func (l Layout) Volume(ctx context.Context, h host.Reader, v provision.Volume, o provision.Owner) (provision.Making, error) {
	if v.Dataset == "" {
		return plain(ctx, h, v, o)
	}
	t, err := zfsHere(ctx, h)
	if err != nil {
		return provision.Making{}, err
	}
	there, err := datasetThere(ctx, h, v.Dataset)
	if err != nil {
		return provision.Making{}, err
	}
	if there {
		return datasetAsWanted(ctx, h, v, o)
	}
	properties := maps.Clone(v.Properties)
	if properties == nil {
		properties = map[string]string{}
	}
	out := provision.Making{Made: maps.Clone(properties)}
	properties["mountpoint"], properties["canmount"] = "none", "off"
	var p place
	if v.At != "" {
		if m, err := mounts.At(ctx, h, v.At); err != nil || m != nil {
			if err == nil {
				err = change.Refuse("name another place", "%s of %s is already mounted at %s", m.FSType, m.Source, v.At)
			}
			return out, err
		}
		if p, err = mountPoint(ctx, h, v.At); err != nil {
			return out, err
		}
		properties["mountpoint"], properties["canmount"] = v.At, "noauto"
	}
	out.Acts, out.Notes = append(p.acts, dataset(v.Dataset, properties)), notes(p.note)
	if v.At != "" {
		out.Acts = append(out.Acts, mountDataset(t, v.Dataset, v.At), firstOwner(v.At, t.mounts(v.Dataset), o))
	}
	return out, nil
}

// datasetThere looks for a dataset, which can be in a pool that is yet to be made.
func datasetThere(ctx context.Context, h host.Reader, name string) (bool, error) {
	there, err := poolThere(ctx, h, zfs.PoolOf(name))
	if err != nil || !there {
		return false, err
	}
	out, err := h.Output(ctx, zfs.Below(zfs.PoolOf(name))...)
	return slices.Contains(zfs.Names(out), name), err
}

// datasetAsWanted gives what is left to do of a dataset that is there: whose it is. Its properties are the
// affair of the rules.
func datasetAsWanted(ctx context.Context, h host.Reader, v provision.Volume, o provision.Owner) (out provision.Making, err error) {
	text, err := h.Output(ctx, zfs.Value("mountpoint", v.Dataset)...)
	if err != nil {
		return out, err
	}
	want := v.At
	if want == "" {
		want = "none"
	}
	if is := strings.TrimSpace(string(text)); is != want && v.At != "" {
		return out, change.Refuse("name another dataset, or another place", "the dataset %s exists, but is mounted at %s, not at %s", v.Dataset, is, want)
	}
	if v.At == "" {
		return out, nil
	}
	m, err := mounts.At(ctx, h, v.At)
	if err != nil {
		return out, err
	}
	if m == nil || m.Source != v.Dataset {
		return out, change.Refuse("zfs mount "+v.Dataset, "the dataset %s exists, but is not mounted at %s", v.Dataset, v.At)
	}
	return owned(ctx, h, v.At, m.FSType+" "+m.Source, o)
}

// dataset makes it, and does not mount it yet.
func dataset(name string, properties map[string]string) change.Act {
	words := []string{markProperty + "={mark}"}
	for _, key := range slices.Sorted(maps.Keys(properties)) {
		words = append(words, key+"="+properties[key])
	}
	return change.Act{Make: &change.Make{
		Thing: change.Thing{Dataset: name}, Empty: true,
		Do:   []change.Op{{Argv: zfs.Create(name, words...)}},
		Undo: []change.Op{script(destroyEmpty, name, properties["canmount"], properties["mountpoint"])},
	}}
}

// mounts gives what is seen mounted of a dataset.
func (t tools) mounts(dataset string) string {
	if t.Fuse {
		return "fuse.zfs " + dataset
	}
	return "zfs " + dataset
}

// mountDataset mounts it, on a directory that nobody can write to.
func mountDataset(t tools, name, at string) change.Act {
	return change.Act{Switch: &change.Switch{
		On: "the mount of " + at, After: t.mounts(name), From: change.None, Either: true, Patience: 5000, Again: 15000,
		Inspect: change.Inspection{Mounted: at}, Still: stillEmpty(at),
		Do: []change.Op{script(`[ "$(zfs get -H -o value mounted "$1")" != yes ] || exit 0
`+hidesNothing+`hides_nothing "$2"
zfs set canmount=on "$1"
[ "$(zfs get -H -o value mounted "$1")" = yes ] || zfs mount "$1"`, name, at)},
		Undo: []change.Op{script(within+`if [ "$(zfs get -H -o value mounted "$1")" = yes ]; then
  in=$(within "$2")
  [ -z "$in" ] || { echo "$2 holds $in: it stays mounted" >&2; exit 1; }
  zfs unmount "$1"
  zfs set canmount=noauto "$1"
fi`, name, at)},
	}}
}

// stillEmpty has what was made for data stay as it is while any are in it, whoever asks: a server may run on them.
func stillEmpty(at string) *change.Still {
	return &change.Still{Empty: at, Hint: "move that away first; --keep leaves it as it is"}
}

// owner gives a directory to a user, whom the packages may make before this is done. It is that of what is mounted there, if
// anything is named: of another, or of the mount point below, nothing is to be taken back.
func owner(at, mounted string, o provision.Owner) change.Act {
	return change.Act{Switch: &change.Switch{
		On: "the owner of " + at, After: o.Words(), Exact: true,
		Inspect: change.Inspection{Dir: at, Top: mounted, Argv: []string{"stat", "-c", "%U:%G %a", at}},
		Do:      []change.Op{script(giveTo, at, o.Words())},
		Undo:    []change.Op{script(giveTo, at, "{before}")},
	}}
}

// firstOwner is that of what was just made.
func firstOwner(at, mounted string, o provision.Owner) change.Act {
	a := owner(at, mounted, o)
	a.Switch.Still = stillEmpty(at)
	return a
}

const giveTo = `chown "${2% *}" "$1" && chmod "${2#* }" "$1"`

// owned gives what is left to do for a directory to be its owner's.
func owned(ctx context.Context, h host.Reader, at, mounted string, o provision.Owner) (out provision.Making, err error) {
	text, err := h.Output(ctx, "stat", "-c", "%U:%G %a", at)
	if err == nil && strings.TrimSpace(string(text)) != o.Words() {
		out.Acts = append(out.Acts, owner(at, mounted, o))
	}
	return out, err
}

// plain makes a directory of a filesystem that is mounted, or will be.
func plain(ctx context.Context, h host.Reader, v provision.Volume, o provision.Owner) (out provision.Making, err error) {
	st, err := h.Stat(ctx, v.At)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := change.RootsAlone(ctx, h, path.Dir(v.At)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return out, err
		}
		// With its own mode at once: an emitted script that is run again would take it for another's.
		return provision.Making{Acts: []change.Act{directory(v.At, fs.FileMode(cmp.Or(o.Perm, 0o700))), firstOwner(v.At, "", o)}}, nil
	case err != nil:
		return out, err
	case !st.Mode.IsDir() || st.Resolved != v.At:
		return out, change.Refuse("name a place whose path has no links", "%s is not a directory, or is a link", v.At)
	}
	return owned(ctx, h, v.At, "", o)
}
