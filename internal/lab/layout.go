package lab

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
)

// layout is a volume with the data that all trials of its arms begin from.
type layout struct {
	place  int // from 1: servers that are up at once have layouts of their own
	setup  experiment.Setup
	volume Volume
	golden string  // directory of the data
	engine Engine  // nil: files alone
	server Program // of engine
	apart  bool    // a trial has the logs of its server apart; in the golden data they are where the server puts them
}

// dataSeed is that of the rows and files: the same data in all experiments,
// so that it is the load's seed alone that differs between blocks.
const dataSeed = 1

// layoutKey names a layout: what it is like, and its place.
type layoutKey struct {
	shape string
	place int
}

// layoutOf gives the layout of a setup at a place, and makes it the first time.
// A failure is not kept: the next trial tries again, because disks fill up and
// come free.
func (l *Lab) layoutOf(ctx context.Context, t experiment.Trial, s experiment.Setup, place int) (*layout, error) {
	key := layoutKey{experiment.LayoutKey(s), place}
	if have := l.layouts[key]; have != nil {
		return have, nil
	}
	made := &layout{place: place, setup: s, apart: len(s.Volume.Logs) > 0}
	if s.Server != nil {
		var err error
		if made.engine, made.server, err = l.find(ctx, *s.Server); err != nil {
			return nil, err
		}
	}
	l.say(Progress{Trial: t, Doing: "making the volume"})
	l.volumes++
	v, err := l.Medium.Make(ctx, l.Box, "v"+strconv.Itoa(l.volumes), s.Volume)
	if err != nil {
		return nil, fmt.Errorf("make the volume: %w", err)
	}
	made.volume = v
	l.say(Progress{Trial: t, Doing: "making the data"})
	if err := l.fill(ctx, made, s, l.twin(s)); err != nil {
		return nil, errors.Join(fmt.Errorf("make the data: %w", err), v.Close(context.WithoutCancel(ctx)))
	}
	l.layouts[key] = made
	return made, nil
}

func (l *Lab) find(ctx context.Context, s experiment.Server) (Engine, Program, error) {
	e, err := l.engineOf(s.Engine)
	if err != nil {
		return nil, Program{}, err
	}
	p, err := e.Find(ctx, l.Box.Do, s, l.Fetch)
	return e, p, err
}

func (l *Lab) engineOf(name string) (Engine, error) {
	for _, e := range l.Engines {
		if slices.Contains(e.Names(), name) {
			return e, nil
		}
	}
	return nil, hint.With(fmt.Errorf("no private server of engine %q can be made", name), strings.Join(product.Private(), ", ")+" can")
}

// twin gives a layout with the same data, at another place or on another volume; nil when
// there is none that can be read while the new one is written.
func (l *Lab) twin(s experiment.Setup) (found *layout) {
	for _, made := range l.layouts {
		if !together(made.setup.Volume, s.Volume) {
			return nil
		}
		if experiment.DataKey(made.setup) == experiment.DataKey(s) {
			found = made
		}
	}
	return found
}

// together tells whether two volumes can be there at once. There is one zfs-fuse on a machine, and it has one ARC: where that
// must have another size, pools that were made before are exported, and their directories are empty.
func together(a, b experiment.Volume) bool {
	return a.Kind != experiment.Zpool || b.Kind != experiment.Zpool || a.ARC == b.ARC
}

// fill makes the data that trials are given copies of. Those of a twin are
// copied: servers that are compared begin with the same bytes, and are loaded once.
func (l *Lab) fill(ctx context.Context, made *layout, s experiment.Setup, twin *layout) error {
	dir, err := made.volume.Golden(ctx, l.UID, l.GID)
	if err != nil {
		return err
	}
	made.golden = dir
	if twin != nil {
		return CopyTree(ctx, l.Box.Do, twin.golden+"/.", dir)
	}
	if s.Server == nil {
		return prepareFiles(ctx, s.Load, dir)
	}
	plain := *s.Server // what is loaded must not depend on the arm that happened to be first
	plain.Settings = nil
	if err := l.install(ctx, made, plain, dir); err != nil {
		return err
	}
	server, err := l.start(ctx, made, plain, dir, control{})
	if err != nil {
		return err
	}
	err = prepareTables(ctx, s.Load, server.load)
	return errors.Join(err, server.stop(context.WithoutCancel(ctx)))
}

// closeLayouts takes away the layouts that an experiment has no use for.
func (l *Lab) closeLayouts(ctx context.Context, x experiment.Experiment) error {
	used, left := map[string]bool{}, map[layoutKey]*layout{}
	for _, u := range experiment.Layouts(x) {
		used[u.Key] = true
	}
	var all []error
	for key, made := range l.layouts {
		if used[key.shape] {
			left[key] = made
			continue
		}
		all = append(all, made.volume.Close(ctx))
	}
	l.layouts = left
	return errors.Join(all...)
}

// copyStands is how long a copy may stand still before it is given up.
const copyStands = 10 * time.Minute

// CopyTree copies a directory with owners, modes, times, extended attributes,
// holes and hard links, for as long as it takes. No block is shared with the old
// files, as cp of today would do by itself where it can.
func CopyTree(ctx context.Context, do host.Streamer, from, to string) error {
	return copyTree(ctx, do, from, to, "never")
}

// ReflinkTree copies a directory as CopyTree does, but its files share all their blocks with the old ones.
func ReflinkTree(ctx context.Context, do host.Streamer, from, to string) error {
	return copyTree(ctx, do, from, to, "always")
}

// copyTree runs cp, and is no stream of tar, which would read every hole and share no
// block. So its bytes do not come by here: what it reads and writes is asked of the
// kernel, and for files that share blocks, which moves no bytes, it names each one.
func copyTree(ctx context.Context, do host.Streamer, from, to, reflink string) error {
	_, err := do.Pipe(ctx, host.Pipe{
		Argv:     []string{"cp", "-a", "-v", "--reflink=" + reflink, "--sparse=auto", "--", from, to},
		Progress: copyStands, Works: true,
	})
	return err
}
