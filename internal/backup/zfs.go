package backup

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/backup/manifest"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// dataset is one of a point, as it is on this host.
type dataset struct {
	name, snapshot, guid string
	moments              map[string]string // its snapshots and bookmarks, by GUID
	raw, open            bool              // encrypted; of OpenZFS
	unsent               []string          // its properties that no stream has, as zfs set takes them
}

// datasetsOf reads those of a point.
func datasetsOf(ctx context.Context, d host.Reader, members []protect.Member) (all []snapshot, err error) {
	for _, m := range members {
		ds, err := read(ctx, d, m)
		if err != nil {
			return nil, err
		}
		all = append(all, ds)
	}
	return all, nil
}

func read(ctx context.Context, d host.Reader, m protect.Member) (ds dataset, err error) {
	name, _, _ := strings.Cut(m.Snapshot, "@")
	ds = dataset{name: name, snapshot: m.Snapshot, guid: m.GUID}
	out, err := d.Output(ctx, zfs.Properties(name)...)
	if err != nil {
		return ds, err
	}
	all := zfs.ParseProperties(out)
	ds.open, ds.unsent = !zfs.IsFuse(all), zfs.Unsent(all)
	ds.raw = slices.ContainsFunc(all, func(p zfs.Property) bool {
		return p.Name == "encryption" && p.Value != "off" && p.Value != "-"
	})
	if out, err = d.Output(ctx, zfs.Moments(name)...); err != nil {
		return ds, err
	}
	ds.moments = zfs.ParseMoments(out, name)
	if ds.moments[ds.guid] != m.Snapshot {
		return ds, fmt.Errorf("the snapshot %s is gone, or another of its name is there", m.Snapshot)
	}
	return ds, nil
}

// begins implements snapshot: the dataset has the snapshot, or a bookmark of it, and the backup is as raw as this one
// will be.
func (ds dataset) begins(m manifest.Manifest) bool {
	s := streamOf(m, ds.name)
	return s != nil && s.Kind == manifest.ZFS && s.Raw == ds.raw && ds.moments[s.GUID] != "" && s.GUID != ds.guid
}

// source implements snapshot. Flags do not matter for whether it can be restored, but for what is
// sent: blocks as they lie on the disk, and raw where they are encrypted.
func (ds dataset) source(base *manifest.Manifest) Source {
	s := Source{Stream: manifest.Stream{Name: ds.name, Kind: manifest.ZFS, GUID: ds.guid, Raw: ds.raw}, Argv: []string{"zfs", "send"}, Unsent: ds.unsent}
	if ds.open {
		s.Argv, s.Snapshot = append(s.Argv, zfs.AsStored(ds.raw)...), ds.snapshot
	}
	if base != nil {
		before := streamOf(*base, ds.name)
		s.Base = &manifest.Base{Backup: base.ID, GUID: before.GUID}
		s.Argv = append(s.Argv, "-i", ds.moments[before.GUID])
	}
	s.Argv = append(s.Argv, ds.snapshot)
	if ds.open {
		s.Estimate = zfs.Estimate(s.Argv)
	}
	return s
}

// under gives the names that the datasets of a backup get below a target: what their own have after
// what they have in common.
func under(streams []manifest.Stream, target string) map[string]string {
	common := path.Dir(streams[0].Name)
	for _, s := range streams {
		for common != "." && !strings.HasPrefix(s.Name, common+"/") {
			common = path.Dir(common)
		}
	}
	names := map[string]string{}
	for _, s := range streams {
		rest := s.Name
		if common != "." {
			rest = strings.TrimPrefix(s.Name, common+"/")
		}
		names[s.Name] = target + "/" + rest
	}
	return names
}

// Below gives the names that the datasets of a backup get below the one it is restored to, and those between.
func Below(m manifest.Manifest) (all []string) {
	const at = "x"
	for _, name := range under(datasets(m), at) {
		for rest := strings.TrimPrefix(name, at+"/"); rest != "."; rest = path.Dir(rest) {
			if !slices.Contains(all, rest) {
				all = append(all, rest)
			}
		}
	}
	slices.Sort(all)
	return all
}
