package backup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
	"plumb/internal/zfs"
)

// Full says when a backup begins anew instead of at one before.
type Full struct {
	Asked bool
	After int // backups that need each other; 0: 30
	// Also are other stores that get this backup: it begins only at one that they have too. One that cannot be read
	// is not waited for.
	Also []Vault
}

// Point makes the job that backs up a point on ZFS. told is what a copy elsewhere must know of the
// point; it goes along, encrypted like all else. The job begins at the newest backup of the same server in the vault
// whose snapshots are still here, so that only what changed since is sent.
func Point(ctx context.Context, d host.Reader, v Vault, p protect.Point, told []byte, full Full) (Job, error) {
	j := Job{Name: "point " + p.ID, Server: p.Server.Ref.String(), Point: p.ID, Facts: facts(p)}
	members, err := onZFS(p)
	if err != nil {
		return j, fmt.Errorf("back up point %s: %w", p.ID, err)
	}
	var all []dataset
	for _, m := range members {
		ds, err := read(ctx, d, m)
		if err != nil {
			return j, fmt.Errorf("back up point %s: %w", p.ID, err)
		}
		all = append(all, ds)
	}
	base, err := newest(ctx, v, j.Server, all, full)
	if err != nil {
		return j, fmt.Errorf("back up point %s: %w", p.ID, err)
	}
	for _, ds := range all {
		j.Sources = append(j.Sources, ds.source(base))
	}
	j.Sources = append(j.Sources, Source{Stream: manifest.Stream{Name: "point", Kind: manifest.Point}, Text: told})
	return j, nil
}

// facts are what whoever restores must know, and has only the manifest to know it from.
func facts(p protect.Point) map[string]string {
	f := map[string]string{"label": string(p.Label), "product": p.Server.Product, "version": p.Server.Version, "flavor": p.Server.Flavor, "taken": p.Times.Snapshot.UTC().Format("2006-01-02T15:04:05.000Z"),
		"identity": p.Server.Identity, "gtid": p.Position.GTID, "applied": p.Position.Applied, "lsn": p.Position.LSN, "binlog": p.Position.File}
	if p.Position.File != "" {
		f["binlog_position"] = fmt.Sprint(p.Position.Offset)
	}
	for _, dir := range p.Server.Dirs {
		f["dir_"+dir.Role] = dir.Path
	}
	for name, value := range f {
		if value == "" {
			delete(f, name)
		}
	}
	return f
}

// onZFS gives the members of a point, each snapshot once.
func onZFS(p protect.Point) (members []protect.Member, err error) {
	if p.State != protect.Taken || len(p.Members) == 0 {
		return nil, errors.New("it is not a whole point")
	}
	members = p.Snapshots()
	for _, m := range members {
		if m.Storage != "zfs" && m.Storage != "zfs-fuse" {
			return nil, hint.With(fmt.Errorf("%s is on %s", m.Name, m.Storage), "points on ZFS are sent; of other storages back up what a command gives: --command 'mariadb-backup --backup --stream=mbstream'")
		}
	}
	return members, nil
}

// dataset is one of a point, as it is on this host.
type dataset struct {
	name, snapshot, guid string
	moments              map[string]string // its snapshots and bookmarks, by GUID
	raw, open            bool              // encrypted; of OpenZFS
}

func read(ctx context.Context, d host.Reader, m protect.Member) (ds dataset, err error) {
	name, _, _ := strings.Cut(m.Snapshot, "@")
	ds = dataset{name: name, snapshot: m.Snapshot, guid: m.GUID}
	out, err := d.Output(ctx, zfs.Properties(name)...)
	if err != nil {
		return ds, err
	}
	all := zfs.ParseProperties(out)
	ds.open = !zfs.IsFuse(all)
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

// newest finds the backup to begin at: nil to begin anew.
func newest(ctx context.Context, v Vault, server string, all []dataset, full Full) (*manifest.Manifest, error) {
	if full.Asked {
		return nil, nil
	}
	if full.After == 0 {
		full.After = 30
	}
	found, err := v.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Backward(found) {
		if f.Err != nil || f.Server != server || !begins(f.Manifest, all) {
			continue
		}
		chain, err := v.Chain(ctx, f.Manifest)
		if err != nil || len(chain) >= full.After {
			continue // what cannot be restored is nothing to build on
		}
		if full.everywhere(ctx, f.ID) {
			return &f.Manifest, nil
		}
	}
	return nil, nil
}

// everywhere tells whether the other stores have a backup, and what it needs.
func (full Full) everywhere(ctx context.Context, id string) bool {
	for _, v := range full.Also {
		m, err := v.Get(ctx, id)
		if err == nil {
			_, err = v.Chain(ctx, m)
		}
		if _, away := errors.AsType[*store.Trouble](err); err != nil && !away {
			return false
		}
	}
	return true
}

// begins tells whether every dataset can be sent from a backup on: it has the snapshot,
// or a bookmark of it, and the backup is as raw as this one will be.
func begins(m manifest.Manifest, all []dataset) bool {
	for _, ds := range all {
		s := streamOf(m, ds.name)
		if s == nil || s.Kind != manifest.ZFS || s.Raw != ds.raw || ds.moments[s.GUID] == "" || s.GUID == ds.guid {
			return false
		}
	}
	return true
}

func streamOf(m manifest.Manifest, name string) *manifest.Stream {
	for i := range m.Streams {
		if m.Streams[i].Name == name {
			return &m.Streams[i]
		}
	}
	return nil
}

// source says how a dataset is sent. Flags do not matter for whether it can be restored, but for what is
// sent: blocks as they lie on the disk, and raw where they are encrypted.
func (ds dataset) source(base *manifest.Manifest) Source {
	s := Source{Stream: manifest.Stream{Name: ds.name, Kind: manifest.ZFS, GUID: ds.guid, Raw: ds.raw}, Argv: []string{"zfs", "send"}}
	if ds.open {
		s.Argv = append(s.Argv, zfs.AsStored(ds.raw)...)
	}
	if base != nil {
		before := streamOf(*base, ds.name)
		s.Base = &manifest.Base{Backup: base.ID, GUID: before.GUID}
		s.Argv = append(s.Argv, "-i", ds.moments[before.GUID])
	}
	s.Argv = append(s.Argv, ds.snapshot)
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
