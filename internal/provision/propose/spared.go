package propose

import (
	"context"
	"fmt"
	"slices"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
)

// spared refuses to erase a disk on which an earlier change made what is still in force. The spec that let the disk be erased then
// says so for ever; and a pool that is not imported just now, or a filesystem that is not mounted, may hold all data.
func (p *planning) spared(ctx context.Context, m provision.Making) error {
	erased := map[string]bool{}
	for _, a := range m.Acts {
		for which, erases := range proven(a) {
			if erases {
				erased[which] = true
			}
		}
	}
	if len(erased) == 0 {
		return nil
	}
	k := change.NewExecutor(p.d, "")
	k.Dir = p.dir
	all, err := k.Changes(ctx)
	if err != nil {
		return fmt.Errorf("see what earlier changes made on the disks: %w", err)
	}
	for _, c := range all {
		if c.Damage != nil {
			return hint.With(fmt.Errorf("read change %d, which may have made something on a disk that is to be erased: %w", c.Number, c.Damage), "move the file away once you know what it did: plumb history lists it")
		}
		for _, a := range c.Acts {
			for which := range proven(a.Act) {
				if erased[which] && slices.Contains([]change.State{change.Done, change.Undoing, change.Left}, a.State) {
					return change.Refuse(fmt.Sprintf("zpool import brings a pool back, and mount a filesystem; plumb undo %d, once nobody needs what is in it", c.Number),
						"change %d made %s on a disk that is to be erased, and it is not in use now: it may hold the data", c.Number, a.Act.Place())
				}
			}
		}
	}
	return nil
}

// proven gives the disks on which an act makes something, and whether it erases what is there.
func proven(a change.Act) map[string]bool {
	all := map[string]bool{}
	if a.Make == nil {
		return all
	}
	for _, op := range a.Make.Do {
		if which, erases := disk.Proves(op); which != "" {
			all[which] = erases
		}
	}
	return all
}
