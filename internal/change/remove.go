package change

import (
	"context"
	"errors"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/host/identity"
	"plumb/internal/host/mounts"
	"plumb/internal/host/paths"
	"plumb/internal/units"
	"plumb/internal/zfs"
)

// Remove takes a directory, dataset or snapshot away. What must hold for that is
// read again immediately before, and the thing leaves its place, and shows who it
// is, before anything of it is removed.
type Remove struct {
	Thing
	Identity string `json:"identity,omitempty"` // only this one; "" for the one that is there
	Empty    bool   `json:"empty,omitempty"`    // only while nothing is in it
	Unused   bool   `json:"unused,omitempty"`   // only while no process uses a directory
	// Keep leaves it aside until Finish removes it: only so can it be taken back.
	Keep bool `json:"keep,omitempty"`
}

const goneForGood = "removed for good: it cannot be taken back"

func (r *Remove) found(ctx context.Context, k *Executor) (Made, bool, error) {
	id, err := r.identity(ctx, k.Doer)
	if err != nil || id == None {
		return Made{}, false, err // gone is what was wanted
	}
	if r.Identity != "" && id != r.Identity {
		return Made{}, false, &Refusal{Why: fmt.Sprintf("%s is another than the one to remove: %s in place of %s", r.place(), id, r.Identity), What: "look at what it is now"}
	}
	return Made{Before: id, Mark: newMark()}, true, r.allowed(ctx, k.Doer)
}

// allowed reads the preconditions.
func (r *Remove) allowed(ctx context.Context, d host.Doer) error {
	if r.Empty {
		in, err := r.contents(ctx, d)
		if err != nil {
			return err
		}
		if len(in) > 0 {
			return &Refusal{Why: fmt.Sprintf("%s is not empty: it holds %s", r.place(), units.Some(in)), What: "move that away first"}
		}
	}
	if r.Path == "" {
		return nil
	}
	if err := unmounted(ctx, d, r.Path); err != nil || !r.Unused {
		return err
	}
	return unused(ctx, d, r.Path, true)
}

// unmounted refuses a directory with something mounted on or below it.
func unmounted(ctx context.Context, d host.Doer, dir string) error {
	all, err := mounts.Read(ctx, d)
	if err != nil {
		return err
	}
	for _, m := range all {
		if paths.Within(m.Mountpoint, dir) {
			return &Refusal{Why: fmt.Sprintf("%s is mounted on %s", m.Source, m.Mountpoint), What: "unmount it first"}
		}
	}
	return nil
}

func (r *Remove) do(ctx context.Context, k *Executor, c *Change, p *Recorded) (string, error) {
	aside := r.aside(p.Made.Mark)
	moved, err := aside.is(ctx, k.Doer, p.Made.Before)
	if err == nil && !moved && !p.Removing {
		if err = r.allowed(ctx, k.Doer); err == nil {
			err = r.withdraw(ctx, k.Doer, p.Made.Mark, p.Made.Before)
		}
		if err == nil {
			moved, err = aside.is(ctx, k.Doer, p.Made.Before)
		}
		if err == nil && !moved {
			err = &Refusal{Why: r.place() + " is another than a moment ago", What: "look at what it is now"}
		}
	}
	if err != nil || r.Keep {
		return "", err
	}
	return "", r.finish(ctx, k, c, p)
}

// finish removes for good what was put aside.
func (r *Remove) finish(ctx context.Context, k *Executor, c *Change, p *Recorded) error {
	aside := r.aside(p.Made.Mark)
	there, err := aside.is(ctx, k.Doer, p.Made.Before)
	if err == nil && there {
		if err = k.note(ctx, c, kindRemoving, result{N: p.N}); err == nil {
			err = aside.destroy(ctx, k.Doer)
		}
	}
	if err != nil {
		return err
	}
	return k.note(ctx, c, kindGone, result{N: p.N})
}

// destroy removes what has a name that only one act uses. Of a dataset, only
// that: ZFS refuses one that has snapshots or others below it.
func (t Thing) destroy(ctx context.Context, d host.Doer) error {
	if t.Path != "" {
		if err := unmounted(ctx, d, t.Path); err != nil {
			return err
		}
		return host.RemoveTree(ctx, d, t.Path)
	}
	return patiently(ctx, d, zfs.Destroy(t.Dataset))
}

func (r *Remove) drift(ctx context.Context, k *Executor, p *Recorded) (*Drift, error) {
	now, err := r.identity(ctx, k.Doer)
	if err != nil || identity.Same(now, p.Made.Before) {
		return nil, err
	}
	if now != None {
		return &Drift{Place: r.place(), Want: "removed", Found: "another in its place: " + now, Others: true}, nil
	}
	aside := r.aside(p.Made.Mark)
	kept, err := aside.is(ctx, k.Doer, p.Made.Before)
	if err != nil || kept || p.Removing {
		return nil, err
	}
	return &Drift{Place: r.place(), Want: "put aside as " + aside.place(), Found: "not there any more", Nested: true, Others: true}, nil
}

func (r *Remove) undo(ctx context.Context, k *Executor, c *Change, p *Recorded, _ bool) error {
	if err := inTheWay(r.drift(ctx, k, p)); err != nil {
		return err
	}
	aside := r.aside(p.Made.Mark)
	id, err := aside.identity(ctx, k.Doer)
	if err != nil {
		return err
	}
	if identity.Same(id, p.Made.Before) {
		if p.Removing && r.Path != "" { // half of a directory is no directory
			return r.finish(ctx, k, c, p)
		}
		return aside.rename(ctx, k.Doer, r.Thing)
	}
	if here, err := r.is(ctx, k.Doer, p.Made.Before); err != nil || here {
		return err // it never left
	}
	return k.note(ctx, c, kindGone, result{N: p.N})
}

// Finish removes for good what a change has put aside. From then on that part
// of it cannot be taken back.
func (k *Executor) Finish(ctx context.Context, number int) error {
	return k.with(ctx, number, func(c *Change) error {
		var failed []error
		for i := range c.Acts {
			if p := &c.Acts[i]; p.Act.Remove != nil && p.State == Done {
				if err := p.Act.Remove.finish(ctx, k, c, p); err != nil {
					failed = append(failed, fmt.Errorf("remove %s for good: %w", p.Act.Place(), err))
				}
			}
		}
		return errors.Join(failed...)
	})
}

func (r *Remove) known(m Made) error {
	switch err := r.Thing.known(); {
	case err != nil:
		return err
	case r.Inspect != nil:
		return unknown(fmt.Sprintf("a removal of %s, which is neither a directory nor a dataset", r.place()))
	case !isMark(m.Mark) || m.Before == "" || m.Before == None:
		return unknown(fmt.Sprintf("a removal of %s that does not say what was there", r.place()))
	}
	return nil
}

func (r *Remove) words(p *Recorded) (before, after string) {
	switch {
	case p.State == Gone || p.Removing:
		return "there", goneForGood
	case r.Keep && p.Made.Mark != "":
		return "there", "put aside as " + r.aside(p.Made.Mark).place()
	case r.Keep:
		return "there", "put aside"
	}
	return "there", "removed for good"
}

func (r *Remove) back(p *Recorded) []Op {
	if r.Dataset == "" {
		return nil
	}
	return []Op{{Argv: zfs.Rename(r.aside(p.Made.Mark).Dataset, r.Dataset)}}
}
