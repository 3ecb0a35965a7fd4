package kinds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/zfs"
)

// RunProperty is the property of a dataset that names the run that made it. It
// is set as the dataset is made, in the same command, so that there is no
// moment in which a dataset of ours does not say so.
const RunProperty = "org.plumb:run"

// datasetNamed tells whether a name may be that of a dataset of a lab: below
// another one, so that no pool is ever meant, and no snapshot.
func datasetNamed(name string) bool {
	return zfs.IsDataset(name) && strings.Contains(name, "/")
}

func freeDataset(ctx context.Context, d host.Doer, t inventory.Thing) error {
	if !datasetNamed(t.Name) {
		return errors.New("what a lab makes is a dataset below another")
	}
	if _, err := d.Run(ctx, zfs.Exists(t.Name)...); err == nil {
		return fs.ErrExist
	}
	return nil // when it is there all the same, it cannot be made
}

// dataset destroys a dataset with all that is below it, when it and all below
// it says that this run made it. Of one that was adopted nobody knows what is
// to be below it, so it must be empty.
func (h holder) dataset(ctx context.Context, e inventory.Entry) error {
	name := e.Thing.Name
	if !datasetNamed(name) {
		return foreign("it is not the name of a lab's dataset")
	}
	ctx, cancel := context.WithTimeout(ctx, poolTime)
	defer cancel()
	there, err := h.datasetThere(ctx, name)
	switch {
	case err != nil || !there:
	case e.Thing.Proof["run"] == "" && e.Thing.Proof[guidProof] != "":
		err = h.destroyAlone(ctx, e.Thing)
	default:
		if err = h.ownDataset(ctx, e); err == nil {
			err = h.destroyDataset(ctx, name)
		}
	}
	if err != nil {
		return err
	}
	return h.unmountDead(ctx, name) // of a zfs-fuse that was killed and started anew
}

// destroyAlone destroys a dataset that has nothing below it. zfs-fuse calls it
// busy for a while after its last user has gone.
func (h holder) destroyAlone(ctx context.Context, t inventory.Thing) error {
	return await.WhileBusy(ctx, 3*patience, func() error {
		err := h.sameGUID(ctx, t)
		if err == nil {
			_, err = h.Do.Run(ctx, zfs.Destroy(t.Name)...)
		}
		return err
	})
}

// datasetThere tells whether a dataset exists. While its pool is not
// imported, nobody knows.
func (h holder) datasetThere(ctx context.Context, name string) (bool, error) {
	pool := zfs.PoolOf(name)
	imported, err := h.poolThere(ctx, pool)
	if err != nil {
		return false, err
	}
	if !imported {
		return false, fmt.Errorf("it is not known whether it is there: the pool %s is not imported", pool)
	}
	_, err = h.Do.Run(ctx, zfs.Exists(name)...)
	if zfs.Missing(err) {
		return false, nil
	}
	return err == nil, err
}

// ownDataset checks that a dataset was made by this run, and that nothing is
// below it but what the run put there and snapshots of it.
func (h holder) ownDataset(ctx context.Context, e inventory.Entry) error {
	name, run := e.Thing.Name, e.Thing.Proof["run"]
	out, err := h.Do.Run(ctx, zfs.Marks(RunProperty, name)...)
	if err != nil {
		return err
	}
	says, err := zfs.ParseMarks(out)
	if err != nil {
		return err
	}
	if mark := says[name]; run == "" || mark != (zfs.Mark{Value: run, Source: "local"}) {
		return foreign("its property %s is %q (%s)", RunProperty, mark.Value, mark.Source)
	}
	if err := h.sameGUID(ctx, e.Thing); err != nil {
		return err
	}
	ours := []string{name}
	for _, below := range strings.Fields(e.Thing.Proof["below"]) {
		ours = append(ours, name+"/"+below)
	}
	for other, mark := range says {
		of, _, snapshot := strings.Cut(other, "@")
		if !slices.Contains(ours, of) || mark.Value != run && !snapshot {
			return fmt.Errorf("somebody made %s below it", other)
		}
	}
	return nil
}

// destroyDataset destroys a dataset and what is below it. Of clones, only
// those below it go with -r; one that is elsewhere holds it.
func (h holder) destroyDataset(ctx context.Context, name string) error {
	return await.Until(ctx, 3*patience, func() (bool, error) {
		_, err := h.Do.Run(ctx, zfs.DestroyAll(name)...)
		if err == nil {
			return true, nil
		}
		there, look := h.datasetThere(ctx, name)
		if look != nil || !there {
			return true, look
		}
		return false, errors.Join(err, h.unmountPool(ctx, name))
	})
}
