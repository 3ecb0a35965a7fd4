package zfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// Probe reads everything about ZFS on one host. Which properties and parameters
// can be set it has from the catalogue.
type Probe struct{ catalog *catalog.Catalog }

// NewProbe makes the probe.
func NewProbe(c *catalog.Catalog) Probe { return Probe{c} }

// Name implements observe.Probe.
func (Probe) Name() string { return "zfs" }

// Cost implements observe.Probe. A module has some 350 parameters; zfs-fuse is
// looked for among all processes.
func (Probe) Cost() observe.Cost {
	return observe.Cost{Every: time.Minute, Waits: true, Once: observe.Requests{Files: 11}, Each: map[string]observe.Requests{
		observe.Running: {Files: 1}, "zfs": {Files: 450, Commands: 6}, "pool": {Files: 2, Commands: 1},
	}}
}

// patience is how long one zpool or zfs command may take. They wait in the
// kernel while a pool is suspended, and the rest of the check must not.
const patience = 15 * time.Second

// Implementations, as the fact zfs:module#implementation has them.
const (
	openZFS = "openzfs"
	zfsFuse = "zfs-fuse"
)

// Collect implements observe.Probe. A host without ZFS gives an empty observation.
func (p Probe) Collect(ctx context.Context, h host.Reader, _ *stack.Stack) (stack.Observation, error) {
	var obs stack.Observation
	daemon, found, err := implementation(ctx, h)
	if err != nil || !found {
		return obs, err
	}
	l := &look{catalog: p.catalog, h: h, obs: &obs, tools: zfs.Tools{Fuse: daemon.pid != 0}, pools: map[string]*stack.Thing{}}
	if l.tools.Fuse {
		l.fuseModule(ctx, daemon)
	} else {
		l.kernelModule(ctx)
	}
	l.readPools(ctx)
	l.readDatasets(ctx)
	l.readSnapshots(ctx)
	return obs, nil
}

// look is one pass over one host.
type look struct {
	catalog  *catalog.Catalog
	h        host.Reader
	obs      *stack.Observation
	tools    zfs.Tools
	module   *stack.Thing
	pools    map[string]*stack.Thing
	datasets map[string]*stack.Thing

	// Of datasets, by ZFS's names.
	properties map[string]*catalog.Fact // that can only be observed
	settings   map[string]*catalog.Fact // that can be set
}

// output runs a reading command with the package's patience.
func (l *look) output(ctx context.Context, argv ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return l.h.Output(ctx, argv...)
}

// because turns an error into a gap's reason and what a person can do.
func because(err error) (why, hint string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("%v: it did not answer in time", err),
			"a suspended pool or a failing device makes zpool and zfs wait: see the kernel log; or give the check longer with --timeout 2m"
	case errors.Is(err, fs.ErrPermission):
		return err.Error(), "run as root"
	case errors.Is(err, host.ErrNoCommand):
		return err.Error(), "install the ZFS commands (zfsutils-linux) or add their directory to PATH"
	}
	return err.Error(), ""
}

// gap records that facts of a thing could not be had because of err.
func (l *look) gap(of stack.Ref, err error, facts ...string) {
	why, hint := because(err)
	l.obs.Gap(of, why, hint, facts...)
}
