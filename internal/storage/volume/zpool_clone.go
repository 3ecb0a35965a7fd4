package volume

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plumb/internal/lab/experiment"
)

const snapshot = "golden@lab"

// imported makes sure that the pool is there: another pool of ours may have
// needed zfs-fuse for itself. The caller has medium.mu.
func (p *pool) imported(ctx context.Context) error {
	if p.open {
		return nil
	}
	if p.fuse {
		if err := p.medium.serve(ctx, p); err != nil {
			return err
		}
	}
	if err := p.run(ctx, "zpool", "import", "-d", p.links(), "-o", "cachefile=none", p.name); err != nil {
		return fmt.Errorf("import the pool: %w", err)
	}
	p.open = true
	return nil
}

// export takes the pool off ZFS, with all of it that is cached.
func (p *pool) export(ctx context.Context) error {
	if !p.open {
		return nil
	}
	if err := p.insist(ctx, "zpool", "export", p.name); err != nil {
		return fmt.Errorf("export the pool: %w", err)
	}
	p.open = false
	return nil
}

func (p *pool) lockedImport(ctx context.Context) error {
	p.medium.mu.Lock()
	defer p.medium.mu.Unlock()
	return p.imported(ctx)
}

// cool exports and imports the pool, so that nothing of it is in the ARC.
func (p *pool) cool(ctx context.Context) error {
	p.medium.mu.Lock()
	defer p.medium.mu.Unlock()
	if err := p.export(ctx); err != nil {
		return err
	}
	return p.imported(context.WithoutCancel(ctx)) // what was imported must be again
}

// Golden implements lab.Volume.
func (p *pool) Golden(ctx context.Context, uid, gid int) (string, error) {
	if err := p.lockedImport(ctx); err != nil {
		return "", err
	}
	if err := p.dataset(ctx, "golden"); err != nil {
		return "", fmt.Errorf("make %s: %w", p.golden(), err)
	}
	if err := p.mounted(ctx, p.golden()); err != nil {
		return "", err
	}
	return p.golden(), own(ctx, p.do, p.golden(), uid, gid)
}

// Clone implements lab.Volume. auto is a clone of a snapshot.
func (p *pool) Clone(ctx context.Context) (dir, how string, err error) {
	if err := p.lockedImport(ctx); err != nil {
		return "", "", err
	}
	if !p.has(ctx, "golden") {
		return "", "", fmt.Errorf("clone %s: there are no golden data yet", p.golden())
	}
	if p.has(ctx, "data") {
		return "", "", fmt.Errorf("clone %s: the clone of the last trial is still there", p.golden())
	}
	how = bySnapshot
	if p.v.Clone == byCopy {
		how = byCopy
		err = p.copyData(ctx)
	} else {
		err = p.cloneSnapshot(ctx)
	}
	if err == nil {
		err = p.cool(ctx)
	}
	if err == nil {
		err = p.mounted(ctx, p.clone())
	}
	if err != nil {
		return "", "", firstOf(fmt.Errorf("clone %s: %w", p.golden(), err), p.Drop(context.WithoutCancel(ctx)))
	}
	p.cloned = how
	return p.clone(), how, nil
}

// mounted is an error when no dataset is mounted on a directory: its data
// would be written to the filesystem of the host.
func (p *pool) mounted(ctx context.Context, dir string) error {
	f, point, err := mountFacts(ctx, p.do, dir)
	if err == nil && (path.Base(point) != path.Base(dir) || !strings.HasSuffix(f.Filesystem, "zfs")) {
		err = fmt.Errorf("no dataset is mounted on %s", dir)
	}
	return err
}

// has tells whether the pool has a dataset or snapshot.
func (p *pool) has(ctx context.Context, name string) bool {
	return p.run(ctx, "zfs", "list", "-H", "-o", "name", p.name+"/"+name) == nil
}

func (p *pool) cloneSnapshot(ctx context.Context) error {
	if !p.has(ctx, snapshot) {
		if err := p.run(ctx, "zfs", "snapshot", p.name+"/"+snapshot); err != nil {
			return err
		}
	}
	return p.run(ctx, "zfs", "clone", "-o", "mountpoint="+p.clone(), p.name+"/"+snapshot, p.name+"/data")
}

func (p *pool) copyData(ctx context.Context) error {
	if err := p.dataset(ctx, "data"); err != nil {
		return err
	}
	return p.run(ctx, "cp", "-a", "--reflink=never", "--sparse=auto", "--", p.golden()+"/.", p.clone())
}

// Drop implements lab.Volume.
func (p *pool) Drop(ctx context.Context) error {
	if err := p.lockedImport(ctx); err != nil {
		return err
	}
	if !p.has(ctx, "data") {
		return nil
	}
	if err := p.insist(ctx, "zfs", "destroy", p.name+"/data"); err != nil {
		return fmt.Errorf("drop the clone: %w", err)
	}
	return nil
}

// Facts implements lab.Volume. Its device is in no single line of
// /proc/diskstats.
func (p *pool) Facts(ctx context.Context) (experiment.VolumeFacts, error) {
	f, _, err := mountFacts(ctx, p.do, p.clone())
	f.Path, f.Cloned, f.Device = p.clone(), p.cloned, ""
	set, err2 := p.do.Run(ctx, "zfs", "get", "-H", "-o", "property,value", "all", p.name+"/data")
	pool, err3 := p.do.Run(ctx, "zpool", "get", "all", p.name)
	f.Properties = lasting(parseProperties(set))
	for name, value := range parsePool(pool, p.name) {
		if name == "ashift" || name == "version" || name == "autotrim" || p.v.Pool[name] != "" {
			f.Properties["pool "+name] = value
		}
	}
	f.Properties["implementation"] = "OpenZFS"
	if p.fuse {
		f.Properties["implementation"] = "zfs-fuse, which also uses the page cache"
		if p.v.ARC > 0 {
			f.Properties["arc"] = p.v.ARC.String()
		}
	}
	return f, errors.Join(err, err2, err3)
}

// Counters implements lab.Volume. The space in use is what the clone refers
// to, shared with the golden data or not.
func (p *pool) Counters(ctx context.Context) map[string]float64 {
	var names []string
	for _, d := range p.devices {
		names = append(names, d.name())
	}
	out := countDevices(ctx, p.do, names)
	text, err := p.do.Run(ctx, "zfs", "get", "-Hp", "-o", "property,value", "all", p.name+"/data")
	if err != nil {
		return out
	}
	all := parseProperties(text)
	ratio := all["refcompressratio"]
	if ratio == "" && p.cloned == byCopy {
		ratio = all["compressratio"] // of a snapshot's clone, it would be that of what was written since
	}
	for name, value := range map[string]string{spaceUsed: all["referenced"], compression: ratio} {
		if n, ok := number(value); ok {
			out[name] = n
		}
	}
	return out
}
