package propose

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"

	"plumb/internal/provision"
	"plumb/internal/provision/predict"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
)

// MountedAt is where the filesystem of a spec is mounted; "" when it has none. The data do not lie at its top, where some filesystems
// have directories of their own, but in a directory that is mounted where the server looks for them.
func MountedAt(sp spec.Spec) string {
	if sp.Filesystem == nil {
		return ""
	}
	return cmp.Or(sp.Filesystem.At, path.Join("/srv", nameOf(sp)))
}

func (p *planning) mountedAt() string { return MountedAt(p.Spec) }

// to is where the data go.
func (p *planning) to() string {
	if p.Spec.Filesystem != nil {
		return path.Join(p.mountedAt(), "data")
	}
	return p.Of + "/data"
}

// onFilesystem lays out the one directory. A log in a directory of its own on the same filesystem would gain nothing.
func (p *planning) onFilesystem(ctx context.Context, at string) (err error) {
	f := p.Spec.Filesystem
	data := provision.Volume{Role: "data", At: at}
	if p.Moved, err = p.liesOn(ctx, f.Device.Path); err != nil {
		return err
	}
	if p.Moved && at != p.Home.Data {
		return p.settled(at)
	}
	if !p.Moved {
		data.Aside = p.to()
	}
	p.Layout = predict.Layout{Server: p.Home.Server, Was: p.Home.Data, Memory: p.Spec.Server.Memory, FSType: f.Type, Volumes: []provision.Volume{data}}
	return nil
}

// liesOn tells whether the server's data are on a device.
func (p *planning) liesOn(ctx context.Context, device string) (bool, error) {
	want, err := p.d.Stat(ctx, device)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // making the filesystem reports that
	}
	if err != nil {
		return false, err
	}
	now := p.holding(p.Home.Data)
	if now == nil || !path.IsAbs(now.Text("source")) {
		return false, nil
	}
	is, err := p.d.Stat(ctx, now.Text("source"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // such as /dev/root
	}
	return is.RdevMajor == want.RdevMajor && is.RdevMinor == want.RdevMinor, err
}

// holding gives the filesystem that holds what a role of the server has at a path; nil when that was not seen.
func (p *planning) holding(at string) *stack.Thing {
	for _, r := range p.Stack.Roles {
		if r.DB == p.Home.Server && (r.Resolved == at || r.Path == at) {
			return p.Stack.Find(r.Filesystem)
		}
	}
	return nil
}

// overwrites is the mount option with which a copy-on-write filesystem overwrites pages in place (rules
// cross/storage-btrfs-datacow-*). The filesystem is made for one server, so the option affects nobody else.
var overwrites = map[string][]string{"btrfs": {"nodatacow"}}

// filesystem is the stage of the filesystem.
func (p *planning) filesystem(ctx context.Context) error {
	f, name := *p.Spec.Filesystem, "filesystem "+p.Spec.Filesystem.Device.Path
	if p.Moved {
		p.stage(name, f.Type+"; the data are on it", provision.Making{})
		return nil
	}
	m, err := p.Storage.Filesystem(ctx, p.d, f, p.mountedAt(), provision.Birth{Mount: overwrites[f.Type]})
	if err == nil {
		err = p.spared(ctx, m)
	}
	if err != nil {
		return err
	}
	if f.Type == "btrfs" && !m.Done() {
		m.Notes = append(m.Notes, "nodatacow: pages are overwritten in place, so btrfs keeps no checksums of them; the server has its own")
	}
	p.room = m.Room
	p.Layout.Made = made(p.Know.Catalog, "filesystem", m.Made)
	if cow, known := p.copies(!m.Done()); known {
		p.Layout.Made["cow"] = cow
	}
	care, err := p.System.Filesystem(ctx, p.d, f)
	if err != nil {
		return err
	}
	m.Notes = append(m.Notes, care.Notes...)
	p.stage(name, f.Type+", mounted at "+p.mountedAt(), m, care.Acts...)
	return nil
}

// copies tells whether the filesystem is copy-on-write. A new one is mounted so that it is not; for one that exists, its mount
// options say.
func (p *planning) copies(new bool) (cow stack.Value, known bool) {
	if new {
		return stack.Bool(false), true
	}
	for _, fs := range p.Stack.OfKind("filesystem") {
		if fs.Text("mountpoint") == p.mountedAt() {
			return fs.Get("cow")
		}
	}
	return stack.Value{}, false
}
