package volume

import (
	"context"
	"fmt"

	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

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
	if err := p.run(ctx, zfs.ImportPool(p.name, p.links())...); err != nil {
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
	if err := p.insist(ctx, zfs.ExportPool(p.name)...); err != nil {
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

func (p *pool) lockedLoads(ctx context.Context) error {
	p.medium.mu.Lock()
	defer p.medium.mu.Unlock()
	if !p.fuse {
		return nil
	}
	return p.medium.fuse.loads(ctx)
}

// cool exports and imports the pool, so that nothing of it is in the ARC. A zfs-fuse whose memory has a limit is
// another one then: each trial begins with all of that.
func (p *pool) cool(ctx context.Context) error {
	p.medium.mu.Lock()
	defer p.medium.mu.Unlock()
	if p.fuse && len(p.medium.fuse.group) > 0 {
		return p.medium.fuse.renew(context.WithoutCancel(ctx)) // what was imported must be again
	}
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
	if err := p.lockedLoads(ctx); err != nil {
		return "", err
	}
	return p.makeGoldenSet(ctx, uid, gid)
}

// Clone implements lab.Volume.
func (p *pool) Clone(ctx context.Context) (dir, how string, err error) {
	if err := p.lockedImport(ctx); err != nil {
		return "", "", err
	}
	if err := p.readySets(ctx); err != nil {
		return "", "", err
	}
	if how, err = p.cloneBy(ctx); err == nil {
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

// Apart implements lab.Volume.
func (p *pool) Apart(ctx context.Context, dir string, uid, gid int) error {
	return p.makeLogs(ctx, dir, uid, gid)
}

// Drop implements lab.Volume.
func (p *pool) Drop(ctx context.Context) error {
	if err := p.lockedImport(ctx); err != nil {
		return err
	}
	return p.dropData(ctx)
}

// Facts implements lab.Volume.
func (p *pool) Facts(ctx context.Context) (experiment.VolumeFacts, error) {
	f, err := p.setFacts(ctx, p.v.Pool)
	if p.v.ARC > 0 {
		f.Properties["arc"] = p.v.ARC.String()
	}
	return f, err
}

// Counters implements lab.Volume.
func (p *pool) Counters(ctx context.Context) map[string]float64 {
	var names []string
	for _, d := range p.devices {
		names = append(names, d.name())
	}
	out := countDevices(ctx, p.do, names)
	p.countSpace(ctx, out)
	return out
}
