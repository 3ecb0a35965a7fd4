package volume

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/lab"
	"plumb/internal/lab/experiment"
	"plumb/internal/zfs"
)

// dataset is a dataset of its own in a pool that is there and stays, with the
// golden data and their clone below it. What its devices do is not its own
// doing alone, so they are neither limited nor counted, and the ARC is that of
// the whole machine.
type dataset struct {
	datasets
	box   lab.Workspace
	thing inventory.Thing
}

func makeDataset(ctx context.Context, b lab.Workspace, name string, v experiment.Volume) (lab.Volume, error) {
	d := &dataset{datasets: datasets{tree: newTree(b, name, v), name: datasetName(v.Parent, b.Run, name), fuse: !openZFS(ctx, b.Do), manual: true}, box: b}
	if err := mkdir(ctx, b.Do, d.dir); err != nil { // below the lab's directory, which is in the book
		return nil, err
	}
	t := inventory.Thing{Kind: inventory.Dataset, Name: d.name, Proof: map[string]string{"run": b.Run, "below": "data golden"}}
	t, err := b.Book.Make(ctx, t, func(*inventory.Thing) error { return d.run(ctx, createDataset(d.name, b.Run, v.Properties)...) })
	if err != nil {
		err = hint.With(fmt.Errorf("make the dataset %s: %w", d.name, err), "volume.properties has the options that were used")
		return nil, firstOf(err, removeTree(context.WithoutCancel(ctx), b.Do, d.dir))
	}
	d.thing = t
	return d, nil
}

func datasetName(parent, run, volume string) string {
	return parent + "/plumb-lab-" + plain(run) + "-" + plain(volume)
}

// createDataset gives the command that makes the dataset above the two with
// data. It says whose it is from the beginning, and asks those who take
// snapshots of everything to leave it out.
func createDataset(name, run string, properties map[string]string) []string {
	options := []string{kinds.RunProperty + "=" + run, "com.sun:auto-snapshot=false", "mountpoint=none"}
	for _, k := range slices.Sorted(maps.Keys(properties)) {
		options = append(options, k+"="+properties[k])
	}
	return zfs.Create(name, options...)
}

// Golden implements lab.Volume.
func (d *dataset) Golden(ctx context.Context, uid, gid int) (string, error) {
	return d.makeGoldenSet(ctx, uid, gid)
}

// Clone implements lab.Volume.
func (d *dataset) Clone(ctx context.Context) (dir, how string, err error) {
	if err := d.readySets(ctx); err != nil {
		return "", "", err
	}
	if how, err = d.cloneBy(ctx); err == nil {
		err = d.cool(ctx)
	}
	if err != nil {
		return "", "", firstOf(fmt.Errorf("clone %s: %w", d.golden(), err), d.Drop(context.WithoutCancel(ctx)))
	}
	d.cloned = how
	return d.clone(), how, nil
}

// cool unmounts and mounts both again, which empties the page cache of them.
func (d *dataset) cool(ctx context.Context) error {
	for name, dir := range map[string]string{"golden": d.golden(), "data": d.clone()} {
		if d.mounted(ctx, dir) == nil {
			if err := d.insist(ctx, zfs.Unmount(d.name+"/"+name)...); err != nil {
				return fmt.Errorf("unmount %s, to empty its cache: %w", dir, err)
			}
		}
		// What was mounted must be again. zfs-fuse lets go of a mount point a moment late.
		if err := d.insist(context.WithoutCancel(ctx), zfs.Mount(d.name+"/"+name)...); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
		if err := d.mounted(ctx, dir); err != nil {
			return err
		}
	}
	return nil
}

// Drop implements lab.Volume.
func (d *dataset) Drop(ctx context.Context) error { return d.dropData(ctx) }

// Limit implements lab.Volume: its devices are not its own to limit.
func (d *dataset) Limit(context.Context) ([]experiment.LimitFact, error) { return nil, nil }

// Unlimit implements lab.Volume.
func (d *dataset) Unlimit(context.Context) error { return nil }

// Facts implements lab.Volume.
func (d *dataset) Facts(ctx context.Context) (experiment.VolumeFacts, error) {
	f, err := d.setFacts(ctx, nil)
	f.Properties["arc"] = "that of the machine"
	if !d.fuse {
		f.Properties["arc"] += ", with what earlier trials left in it"
	}
	return f, err
}

// Counters implements lab.Volume. What its devices did is not told: others
// use them, too.
func (d *dataset) Counters(ctx context.Context) map[string]float64 {
	out := map[string]float64{}
	d.countSpace(ctx, out)
	return out
}

// Close implements lab.Volume.
func (d *dataset) Close(ctx context.Context) error {
	err := d.box.Book.Remove(ctx, d.thing)
	if err == nil {
		err = removeTree(ctx, d.do, d.dir)
	}
	if err != nil {
		return fmt.Errorf("take the volume away: %w", err)
	}
	return nil
}
