package propose

import (
	"context"
	"fmt"
	"strings"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/provision"
	"plumb/internal/provision/disk"
)

// spared refuses to erase a disk on which an earlier change made something that may still be there. The spec that allowed the disk
// to be erased still says so; and a pool that is not imported now, or a filesystem that is not mounted, may hold all the data.
func (p *planning) spared(ctx context.Context, m provision.Making) error {
	erased := map[string]bool{}
	for _, a := range m.Acts {
		for _, op := range proofs(a) {
			if which, erases := disk.Proves(op); erases {
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
			return hint.With(fmt.Errorf("read change %d, which may have made something on a disk that is to be erased: %w", c.Number, c.Damage), "move the file away once you know what that change did: plumb history lists it")
		}
		for _, a := range c.Acts {
			if err := spares(c.Number, a, erased); err != nil {
				return err
			}
		}
	}
	return nil
}

// spares refuses to erase disks on which an act made something. If that was left there or forgotten, no undo removes it any more:
// a person who does not need it empties the disks by hand.
func spares(number int, a change.Recorded, erased map[string]bool) error {
	var empty []string
	for _, op := range proofs(a.Act) {
		if which, _ := disk.Proves(op); erased[which] {
			empty = append(empty, disk.ByHand(op))
		}
	}
	if len(empty) == 0 {
		return nil
	}
	made := "made"
	if a.State == change.Begun || a.State == change.Failed {
		made = "began to make"
	}
	const back = "zpool import brings a pool back, and mount a filesystem; "
	switch a.State {
	case change.Begun, change.Failed, change.Undoing, change.Done:
		return change.Refuse(fmt.Sprintf(back+"plumb undo %d, once nobody needs its contents", number),
			"change %d %s %s on a disk that is to be erased, and it is not in use now: it may contain the data", number, made, a.Act.Place())
	case change.Left:
		return change.Refuse(back+"once nobody needs its contents: "+strings.Join(empty, "; "),
			"change %d made %s on a disk that is to be erased, and no undo will remove it: it was left there, and may contain the data", number, a.Act.Place())
	}
	return nil
}

// proofs gives what an act does to look at the disks on which it makes something.
func proofs(a change.Act) (ops []change.Op) {
	if a.Make == nil {
		return nil
	}
	for _, op := range a.Make.Do {
		if which, _ := disk.Proves(op); which != "" {
			ops = append(ops, op)
		}
	}
	return ops
}
