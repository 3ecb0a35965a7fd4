package propose

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/host/paths"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
	"plumb/internal/provision/predict"
	"plumb/internal/provision/spec"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// layout finds which volumes the server gets, and which of them hold its data already.
func (p *planning) layout(ctx context.Context) error {
	at, err := p.dataAt()
	if err != nil {
		return err
	}
	for i, part := range p.Home.Parts {
		if part.Now == "" || paths.Within(part.Now, p.Home.Data) { // it goes along
			p.Home.Parts[i].At = at + strings.TrimPrefix(part.At, p.Home.Data)
		}
	}
	if p.Of = Of(p.Spec); p.Spec.Filesystem != nil {
		return p.onFilesystem(ctx, at)
	}
	l := predict.Layout{Server: p.Home.Server, Was: p.Home.Data, Memory: p.Spec.Server.Memory, FSType: "zfs", Pool: poolOf(p.Spec)}
	if z := p.Stack.Find(stack.Ref{Kind: "zfs", Name: "module"}); z != nil && z.Text("implementation") == "zfs-fuse" {
		l.FSType = "fuse.zfs"
	}
	data := provision.Volume{Role: "data", Dataset: p.Of + "/data", At: at}
	p.Moved = p.on(p.Home.Data) == data.Dataset
	if p.Moved && at != p.Home.Data {
		return p.settled(at)
	}
	if !p.Moved {
		data.Aside = p.aside(data.Dataset)
	}
	l.Volumes = []provision.Volume{{Dataset: p.Of}, data}
	for _, part := range p.Home.Parts {
		if v, ok := p.part(part); ok {
			l.Volumes = append(l.Volumes, v)
		}
	}
	p.Layout = l
	return nil
}

// dataAt is where the data will be mounted. Units of systemd hide or protect some places from servers.
func (p *planning) dataAt() (string, error) {
	at := cmp.Or(p.Spec.Server.At, p.Home.Data)
	if at == p.Home.Data {
		return at, nil
	}
	for _, of := range []string{"/home", "/root", "/tmp", "/var/tmp", "/usr", "/etc"} {
		if paths.Within(at, of) {
			return "", hint.With(fmt.Errorf("server.at is below %s, which the systemd units of servers hide or make read-only", of), "use a place below /srv or /var/lib")
		}
	}
	if f := p.Spec.Filesystem; f != nil && (paths.Within(at, p.mountedAt()) || paths.Within(p.mountedAt(), at)) {
		return "", hint.With(fmt.Errorf("one of server.at and %s, where the filesystem is mounted, is inside the other", p.mountedAt()), "the data are in a directory of the filesystem, which is mounted at server.at: use another place, or another filesystem.at")
	}
	return at, nil
}

// settled refuses to mount data elsewhere that are on their volume already.
func (p *planning) settled(at string) error {
	return hint.With(fmt.Errorf("the data are already on %s, at %s: they can only get the path server.at (%s) when they are moved there", p.to(), p.Home.Data, at),
		"leave server.at out, or undo the provision first (--undo)")
}

// Of names the provision of a spec in the journal: by the dataset above all others, or by the device of the filesystem, with the
// product, and the server if the spec names one.
func Of(sp spec.Spec) string {
	name := nameOf(sp)
	if sp.Pool != nil {
		return sp.Pool.Name + "/" + name
	}
	if sp.Use != "" {
		return sp.Use + "/" + name
	}
	return sp.Filesystem.Device.Path + " " + name
}

// nameOf is the product, and the server where the spec names it.
func nameOf(sp spec.Spec) string {
	own := sp.Server.Own()
	if own == "" {
		return sp.Server.Product
	}
	return sp.Server.Product + "-" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_.:-", r) {
			return r
		}
		return '-' // a dataset is called so
	}, own)
}

// poolOf is the pool that a spec makes or uses; "" when it is for a filesystem.
func poolOf(sp spec.Spec) string {
	if sp.Pool != nil {
		return sp.Pool.Name
	}
	return zfs.PoolOf(sp.Use)
}

// on gives the dataset that holds a path now; "" when none does.
func (p *planning) on(at string) string {
	if f := p.holding(at); f != nil && strings.HasSuffix(f.Text("fstype"), "zfs") {
		return f.Text("source")
	}
	return ""
}

// below finds the whole disks on which the data will be, as far as they were seen, because rules about disks apply too.
func (p *planning) below(ctx context.Context) error {
	if pool := p.Stack.Find(stack.Ref{Kind: "pool", Name: p.Layout.Pool}); pool != nil {
		disks, known := pool.Links["disks"]
		p.Layout.Disks, p.Layout.Unseen = disks, !known
		return nil
	}
	var of []spec.Disk
	switch sp := p.Spec; {
	case sp.Pool != nil:
		of = sp.Pool.Data
	case sp.Filesystem != nil:
		of = []spec.Disk{sp.Filesystem.Device}
	}
	p.Layout.Unseen = len(of) == 0 // what is used was not seen
	for _, d := range of {
		name, err := disk.Known(ctx, p.d, d.Path)
		if err != nil {
			return err
		}
		known := false
		if b := p.Stack.Find(stack.Ref{Kind: "block", Name: name}); b != nil {
			var disks []stack.Ref
			disks, known = b.Links["disks"]
			p.Layout.Disks = append(p.Layout.Disks, disks...)
		}
		p.Layout.Unseen = p.Layout.Unseen || !known
	}
	return nil
}

// part gives the volume of a part; none if somebody has put the part elsewhere, where it stays.
func (p *planning) part(part provision.Part) (provision.Volume, bool) {
	v := provision.Volume{Role: part.Roles[0], Dataset: p.Of + "/" + part.Name, At: part.At}
	now := p.on(part.Now)
	switch {
	case now == v.Dataset:
		return v, true
	case !paths.Within(part.Now, p.Home.Data) || p.Moved:
		return v, false
	}
	v.Aside = p.aside(v.Dataset)
	return v, true
}

// aside is where a volume is mounted until it takes its place: beside the journal, where only root can put anything in its way. The
// directory above the data may belong to the server's user.
func (p *planning) aside(dataset string) string {
	return path.Join(p.dir, "new-"+strings.ReplaceAll(dataset, "/", "-"))
}

// made gives what a storage says about a thing that it will make, as facts of a kind.
func made(cat *catalog.Catalog, kind string, of map[string]string) map[string]stack.Value {
	facts := map[string]stack.Value{}
	for name, text := range of {
		if f := cat.Fact(kind, name); f != nil {
			if v, err := catalog.ParseValue(f, text); err == nil {
				facts[name] = v
			}
		}
	}
	return facts
}

// moves lists the parts whose volumes are not in their places yet.
func (p *planning) moves() (parts []provision.Part) {
	for _, part := range p.Home.Parts {
		if slices.ContainsFunc(p.Layout.Volumes, func(v provision.Volume) bool { return v.Aside != "" && v.Role == part.Roles[0] }) {
			parts = append(parts, part)
		}
	}
	return parts
}
