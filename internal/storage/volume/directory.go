package volume

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/host/scratch"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
)

// directory is a volume below the lab's own directory, on whatever filesystem
// that is. It needs no root.
type directory struct{ tree }

func makeDirectory(ctx context.Context, b lab.Workspace, name string, v experiment.Volume) (lab.Volume, error) {
	d := &directory{newTree(b, name, v)}
	if err := mkdir(ctx, b.Do, d.dir); err != nil { // below the lab's directory, which is in the book
		return nil, err
	}
	return d, nil
}

// Golden implements lab.Volume.
func (d *directory) Golden(ctx context.Context, uid, gid int) (string, error) {
	return d.golden(), d.makeGolden(ctx, uid, gid)
}

// Clone implements lab.Volume.
func (d *directory) Clone(ctx context.Context) (dir, how string, err error) {
	if err := d.ready(ctx); err != nil {
		return "", "", err
	}
	how = byCopy
	if d.v.Clone == byReflink {
		how = byReflink
	}
	if err = d.copyTree(ctx, how); err == nil {
		err = errors.Join(scratch.Forget(d.golden()), scratch.Forget(d.clone()))
	}
	if err != nil {
		return "", "", firstOf(err, d.Drop(context.WithoutCancel(ctx)))
	}
	d.cloned = how
	return d.clone(), how, nil
}

// Drop implements lab.Volume.
func (d *directory) Drop(ctx context.Context) error { return removeTree(ctx, d.do, d.clone()) }

// Limit implements lab.Volume: there is nothing of its own to limit.
func (d *directory) Limit(context.Context) ([]experiment.LimitFact, error) { return nil, nil }

// Unlimit implements lab.Volume.
func (d *directory) Unlimit(context.Context) error { return nil }

// Facts implements lab.Volume.
func (d *directory) Facts(ctx context.Context) (experiment.VolumeFacts, error) {
	f, _, err := mountFacts(ctx, d.do, d.dir)
	f.Path, f.Cloned = d.clone(), d.cloned
	return f, err
}

// Counters implements lab.Volume. The device is not ours alone, so what it
// did is not told.
func (d *directory) Counters(ctx context.Context) map[string]float64 {
	out := map[string]float64{}
	text, err := d.do.Run(ctx, "du", "-s", "--block-size=1", "--", d.clone())
	if f := strings.Fields(string(text)); err == nil && len(f) > 0 {
		if n, err := strconv.ParseFloat(f[0], 64); err == nil {
			out[spaceUsed] = n
		}
	}
	return out
}

// Close implements lab.Volume.
func (d *directory) Close(ctx context.Context) error {
	if err := removeTree(ctx, d.do, d.dir); err != nil {
		return fmt.Errorf("take the volume away: %w", err)
	}
	return nil
}
