package volume

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

// pool is a ZFS pool of its own on loop devices, of OpenZFS where the kernel
// has it and of zfs-fuse otherwise. zfs-fuse reads and writes its devices
// through the page cache (its way round that breaks mmap), so there the data
// may be in memory three times.
//
// The golden data are a dataset, and so is the clone; the one above them is the
// pool's first.
// A pool is not made anew between trials: its free space becomes a little more
// scattered with each.
type pool struct {
	datasets
	medium  *maker
	box     lab.Workspace
	open    bool // imported
	devices []device
	thing   inventory.Thing
	limits  *limiter
}

func (m *maker) makePool(ctx context.Context, b lab.Workspace, name string, v experiment.Volume) (lab.Volume, error) {
	profile, err := experiment.ParseProfile(v.Profile)
	if err != nil {
		return nil, err
	}
	p := &pool{datasets: datasets{tree: newTree(b, name, v), name: poolName(b.Run, name), fuse: !openZFS(ctx, b.Do)}, medium: m, box: b}
	m.mu.Lock()
	err = p.create(ctx)
	m.mu.Unlock()
	if err != nil {
		return nil, firstOf(err, p.Close(context.WithoutCancel(ctx)))
	}
	var numbers []string
	for _, d := range p.devices {
		numbers = append(numbers, d.number)
	}
	p.limits = newLimiter(b, profile, numbers, p.probe())
	return p, nil
}

// poolName gives a pool's name: letters, digits and a few signs are allowed.
func poolName(run, volume string) string {
	return "plumblab" + plain(run+volume)
}

// plain leaves the letters, digits and signs that every name of ZFS may have.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return -1
	}, s)
}

// links is a directory with links to the pool's devices: an import looks
// there and nowhere else.
func (p *pool) links() string { return p.dir + ".devices" }

// probe is where limits are measured.
func (p *pool) probe() string { return filepath.Join(p.dir, "probe") }

func (p *pool) create(ctx context.Context) error {
	if p.fuse {
		if err := p.medium.serve(ctx, p); err != nil {
			return err
		}
	}
	out, err := p.do.Run(ctx, zfs.Pools()...)
	if err == nil && slices.Contains(zfs.Names(out), p.name) {
		err = fmt.Errorf("a pool of the name %s exists already", p.name)
	}
	if err == nil {
		err = errors.Join(mkdir(ctx, p.do, p.dir), mkdir(ctx, p.do, p.links()))
	}
	if err == nil {
		err = p.makeDevices(ctx)
	}
	if err != nil {
		return fmt.Errorf("make the pool: %w", err)
	}
	argv := createPool(p.name, p.v, p.paths())
	t := inventory.Thing{Kind: inventory.Pool, Name: p.name, Proof: map[string]string{"vdevs": strings.Join(p.paths(), " ")}}
	t, err = p.box.Book.Make(ctx, t, func(*inventory.Thing) error { return p.run(ctx, argv...) })
	if err != nil {
		return hint.With(fmt.Errorf("make the pool: %w", err), "volume.pool and volume.properties have the options that were used")
	}
	p.thing, p.open = t, true
	return p.add(ctx, "probe", "")
}

func (p *pool) makeDevices(ctx context.Context) error {
	sizes := slices.Repeat([]experiment.Bytes{p.v.Size}, vdevCount(p.v))
	for _, more := range []experiment.Bytes{p.v.Log, p.v.Cache} {
		if more > 0 {
			sizes = append(sizes, more)
		}
	}
	for i, size := range sizes {
		d, err := makeDevice(ctx, p.box, p.dir+"."+strconv.Itoa(i)+".img", size)
		if err != nil {
			return err
		}
		p.devices = append(p.devices, d)
		if err := p.run(ctx, "ln", "-s", "--", d.path, filepath.Join(p.links(), d.name())); err != nil {
			return err
		}
	}
	return nil
}

func (p *pool) paths() (all []string) {
	for _, d := range p.devices {
		all = append(all, d.path)
	}
	return all
}

// createPool gives the command that makes a pool on its devices: the data's,
// then the log's and the cache's.
func createPool(name string, v experiment.Volume, devices []string) []string {
	var vdevs []string
	if v.Layout == "mirror" || v.Layout == "raidz" {
		vdevs = append(vdevs, v.Layout)
	}
	n := vdevCount(v)
	vdevs, devices = append(vdevs, devices[:n]...), devices[n:]
	if v.Log > 0 {
		vdevs, devices = append(vdevs, "log", devices[0]), devices[1:]
	}
	if v.Cache > 0 {
		vdevs = append(vdevs, "cache", devices[0])
	}
	return zfs.CreatePool(zfs.NewPool{Name: name, Pool: v.Pool, Root: v.Properties, Vdevs: vdevs})
}

// Limit implements lab.Volume.
func (p *pool) Limit(ctx context.Context) ([]experiment.LimitFact, error) { return p.limits.Limit(ctx) }

// Unlimit implements lab.Volume.
func (p *pool) Unlimit(ctx context.Context) error { return p.limits.Unlimit(ctx) }

// Close implements lab.Volume.
func (p *pool) Close(ctx context.Context) error {
	var err error
	if p.limits != nil {
		err = p.Unlimit(ctx)
	}
	p.medium.mu.Lock()
	defer p.medium.mu.Unlock()
	if p.thing.Name != "" {
		err = errors.Join(err, p.imported(ctx))
		if err == nil {
			err = p.box.Book.Remove(ctx, p.thing)
		}
		p.open = p.open && err != nil
	}
	if err == nil && p.fuse {
		err = p.medium.leave(ctx, p)
	}
	for _, d := range slices.Backward(p.devices) {
		if err == nil {
			err = d.remove(ctx, p.box)
		}
	}
	if err == nil {
		err = errors.Join(removeTree(ctx, p.do, p.dir), removeTree(ctx, p.do, p.links()))
	}
	if err != nil {
		return fmt.Errorf("take the volume away: %w", err)
	}
	return nil
}
