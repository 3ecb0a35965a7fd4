// Package volume makes the volumes that experiments put their data on: a
// directory, a filesystem of its own on a loop device, a ZFS pool of its own,
// and a dataset of its own in a pool that is there. It also limits them to what
// a volume of a cloud allows.
//
// Every trial is given a copy of the same data, under the same path, and with
// nothing of it in the page cache. The host's caches are never dropped as a
// whole: that would disturb everybody else. Instead
//
//   - a loop device's filesystem is unmounted and mounted again, which drops
//     all of its pages, its metadata too. Loop devices use direct I/O, so that
//     the file below them is not cached a second time;
//   - a pool is exported and imported again, which drops its share of the ARC;
//   - the files of a directory are written out and dropped one by one. Names,
//     inodes and the filesystem's own metadata stay cached;
//   - a dataset in a pool of others is unmounted and mounted again. That drops
//     its pages, but not what the ARC holds of it (in ZFS since 2014; zfs-fuse
//     is older): trials may begin with what earlier ones read.
//
// What the disk itself caches stays in all of them.
//
// Between trials, loop devices are trimmed: the blocks of the last trial are
// given back to the filesystem below, so that all trials begin on the same
// holes. On an SSD this is kinder than a full disk is.
package volume

import (
	"context"
	"fmt"
	"sync"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// New gives the medium that makes all kinds of volumes.
func New() lab.VolumeMaker { return &maker{} }

type maker struct {
	mu   sync.Mutex
	fuse *daemon // zfs-fuse, when we started it; one serves all pools
}

// Check implements lab.Medium.
func (m *maker) Check(ctx context.Context, h host.Reader, v experiment.Volume) (lab.Need, error) {
	switch v.Kind {
	case experiment.Directory:
		return checkDirectory(v)
	case experiment.Loop:
		return checkLoop(ctx, h, v)
	case experiment.Zpool:
		return checkPool(ctx, h, v)
	case experiment.Dataset:
		return checkDataset(ctx, h, v)
	}
	return lab.Need{}, errKind(v.Kind)
}

// Make implements lab.Medium.
func (m *maker) Make(ctx context.Context, b lab.Workspace, name string, v experiment.Volume) (lab.Volume, error) {
	if _, err := m.Check(ctx, b.Do, v); err != nil {
		return nil, err
	}
	switch v.Kind {
	case experiment.Directory:
		return makeDirectory(ctx, b, name, v)
	case experiment.Loop:
		return makeLoop(ctx, b, name, v)
	case experiment.Zpool:
		return m.makePool(ctx, b, name, v)
	case experiment.Dataset:
		return makeDataset(ctx, b, name, v)
	}
	return nil, errKind(v.Kind)
}

func errKind(kind string) error {
	return hint.With(fmt.Errorf("volume.kind %q: there is no such kind", kind), "directory, loop, zpool and dataset are known")
}
