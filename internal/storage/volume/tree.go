package volume

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// tree is what all kinds of volumes have: a directory with the golden data and
// their clone in it.
type tree struct {
	do     host.Launcher
	dir    string // of the volume
	v      experiment.Volume
	cloned string // how, once it was
}

func newTree(b lab.Workspace, name string, v experiment.Volume) tree {
	return tree{do: b.Do, dir: filepath.Join(b.Dir, name), v: v}
}

// golden is the directory with the data that trials get copies of. Nobody but
// the trial's server sees another name than that of the clone.
func (t *tree) golden() string { return filepath.Join(t.dir, "golden") }
func (t *tree) clone() string  { return filepath.Join(t.dir, "data") }

// mkdir makes a directory that others may pass through.
func mkdir(ctx context.Context, d host.Doer, dir string) error {
	if _, err := d.Run(ctx, "mkdir", "-m", "755", "--", dir); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return nil
}

// own gives a directory to the user that fills it; others are shut out.
func own(ctx context.Context, d host.Doer, dir string, uid, gid int) error {
	_, err := d.Run(ctx, "chmod", "700", "--", dir)
	if err == nil && (uid != 0 || gid != 0) {
		_, err = d.Run(ctx, "chown", strconv.Itoa(uid)+":"+strconv.Itoa(gid), "--", dir)
	}
	if err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return nil
}

func (t *tree) makeGolden(ctx context.Context, uid, gid int) error {
	if err := mkdir(ctx, t.do, t.golden()); err != nil {
		return err
	}
	return own(ctx, t.do, t.golden(), uid, gid)
}

// Apart implements lab.Volume, for kinds that have no datasets.
func (t *tree) Apart(context.Context, string, int, int) error {
	return fmt.Errorf("volume.log_properties has no meaning for %s", t.v.Kind)
}

// ready is an error unless there are golden data and no clone.
func (t *tree) ready(ctx context.Context) error {
	switch {
	case inventory.Missing(ctx, t.do, t.golden()):
		return fmt.Errorf("clone %s: there are no golden data yet", t.golden())
	case !inventory.Missing(ctx, t.do, t.clone()):
		return fmt.Errorf("clone %s: the clone of the last trial is still there", t.golden())
	}
	return nil
}

// copyTree makes the clone of the golden data.
func (t *tree) copyTree(ctx context.Context, how string) error {
	fill := lab.CopyTree
	if how == byReflink {
		fill = lab.ReflinkTree
	}
	if err := fill(ctx, t.do, t.golden(), t.clone()); err != nil {
		return hint.With(fmt.Errorf("clone %s (%s): %w", t.golden(), how, err), cloneHint(how))
	}
	return nil
}

func cloneHint(how string) string {
	if how == byReflink {
		return "volume.clone: copy works everywhere; reflinks need btrfs, or XFS made with reflink=1"
	}
	return "a volume must have room for the data twice, and for what a trial adds: volume.size"
}

// removeTree removes a directory of ours.
func removeTree(ctx context.Context, d host.Doer, dir string) error {
	if err := host.RemoveTree(ctx, d, dir); err != nil {
		return fmt.Errorf("remove %s: %w", dir, err)
	}
	return nil
}

// run runs a command whose output does not matter.
func (t *tree) run(ctx context.Context, argv ...string) error {
	_, err := t.do.Run(ctx, argv...)
	return err
}

// patience is how long it is waited for somebody who still uses a volume.
const patience = 15 * time.Second

// insist repeats a command while something is busy: a server that has just
// ended holds its files for a moment.
func (t *tree) insist(ctx context.Context, argv ...string) error {
	return await.Until(ctx, patience, func() (bool, error) {
		err := t.run(ctx, argv...)
		return err == nil, err
	})
}
