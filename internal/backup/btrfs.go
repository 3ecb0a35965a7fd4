package backup

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"plumb/internal/backup/manifest"
	"plumb/internal/btrfs"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// subvolume is the snapshot of one subvolume of a point, as it is on this host.
type subvolume struct {
	name, uuid string
	top, at    string            // where the top of its filesystem is mounted, and the snapshot's path from there
	there      map[string]string // the paths of all snapshots of the filesystem that nobody can write to, by UUID
}

// subvolumesOf reads the snapshots of a point on btrfs.
func subvolumesOf(ctx context.Context, d host.Reader, tops Tops, members []protect.Member) (all []snapshot, err error) {
	for _, m := range members {
		top, err := tops.Top(ctx, d, m.Pool)
		if err != nil {
			return nil, err
		}
		out, err := d.Output(ctx, btrfs.ListReadOnly(top)...)
		if err != nil {
			return nil, err
		}
		list, err := btrfs.Parse(out)
		if err != nil {
			return nil, err
		}
		s := subvolume{name: streamName(members, m), uuid: m.GUID, top: top, at: m.Snapshot, there: map[string]string{}}
		if !slices.ContainsFunc(list, func(s btrfs.Subvolume) bool {
			return s.Path == m.Snapshot && s.UUID == m.GUID && fmt.Sprint(s.Born) == m.Birth
		}) {
			return nil, fmt.Errorf("the snapshot %s is gone, is another of its name, or can be written to", m.Snapshot)
		}
		for _, one := range list {
			s.there[one.UUID] = one.Path
		}
		all = append(all, s)
	}
	return all, nil
}

// streamName names the stream of a member after its subvolume, and after its filesystem too if another one has a subvolume of
// the same name.
func streamName(members []protect.Member, m protect.Member) string {
	if slices.ContainsFunc(members, func(o protect.Member) bool { return o.Name == m.Name && o.Pool != m.Pool }) {
		return m.Pool + ":" + m.Name
	}
	return m.Name
}

// origin is the snapshot that a backup ends with.
func (s subvolume) origin(m manifest.Manifest) (btrfs.Origin, bool) {
	of := streamOf(m, s.name)
	if of == nil || of.Kind != manifest.Btrfs {
		return btrfs.Origin{}, false
	}
	o, err := btrfs.ParseOrigin(of.GUID)
	return o, err == nil
}

// begins implements snapshot. Whether somebody has written to the other snapshot since shows only in the stream, by the
// generation that it begins with.
func (s subvolume) begins(m manifest.Manifest) bool {
	o, ok := s.origin(m)
	return ok && o.UUID != s.uuid && s.there[o.UUID] != ""
}

// source implements snapshot.
func (s subvolume) source(base *manifest.Manifest) Source {
	out := Source{Stream: manifest.Stream{Name: s.name, Kind: manifest.Btrfs}, Sieve: &btrfs.Sieve{Of: btrfs.Origin{UUID: s.uuid}}}
	parent := ""
	if base != nil {
		out.Sieve.From, _ = s.origin(*base)
		out.Base = &manifest.Base{Backup: base.ID, GUID: out.Sieve.From.String()}
		parent = path.Join(s.top, s.there[out.Sieve.From.UUID])
	}
	out.Argv = btrfs.Send(path.Join(s.top, s.at), parent)
	return out
}

// subvolumeNames gives the names that the subvolumes of a backup get in a directory: the last part of their own, or all of it
// where two would get the same.
func subvolumeNames(streams []manifest.Stream) map[string]string {
	names := map[string]string{}
	taken := map[string]int{}
	last := func(s manifest.Stream) string {
		if name := path.Base(s.Name); name != "/" && name != "." {
			return name
		}
		return "top"
	}
	for _, s := range streams {
		taken[last(s)]++
	}
	for _, s := range streams {
		names[s.Name] = last(s)
		if taken[last(s)] > 1 {
			names[s.Name] = url.PathEscape(cmp.Or(strings.Trim(s.Name, "/"), "/"))
		}
	}
	return names
}

// oddName refuses names that would lead out of the directory. A signed manifest is trusted for data, and not for where files are
// made.
func oddName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > 200 || strings.ContainsAny(name, "/\x00\n") {
		return hint.With(fmt.Errorf("%.100q is not a subvolume name", name), "restore it to a file or a command: --output FILE, --command 'LINE'")
	}
	return nil
}
