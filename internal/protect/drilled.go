package protect

import (
	"cmp"
	"context"
	"slices"
)

// elsewhere is the doubt of a point whose lock turned out not to have lasted.
const elsewhere = "a copy recovered to another position than the one read under the lock"

// Short says what a drill lacked to prove its point; "" when it proved it.
func (d Drill) Short() string {
	switch {
	case !d.OK:
		return cmp.Or(d.Why, "it failed")
	case d.Exact != nil && !*d.Exact:
		return elsewhere
	}
	return ""
}

// Drilled writes down the result of a drill, and relabels the point. A copy that recovered another position than was read under the
// lock proves that the lock did not last.
func (k *Keeper) Drilled(ctx context.Context, id string, d Drill) error {
	return k.Change(ctx, id, func(p *Point) {
		p.Drill = &d
		switch {
		case d.Short() == "":
			p.Label = Proven
		case d.Short() == elsewhere:
			p.Label = Crash
			if !slices.Contains(p.Doubts, elsewhere) {
				p.Doubts = append(p.Doubts, elsewhere)
			}
		case p.Label == Proven:
			p.Label = Crash // it started once, and does not any more
		}
	})
}

// Replicated writes down the result of a drill of a replica. It says nothing about the point itself.
func (k *Keeper) Replicated(ctx context.Context, id string, r Replica) error {
	return k.Change(ctx, id, func(p *Point) {
		p.Replicas = append(slices.DeleteFunc(p.Replicas, func(o Replica) bool { return o.Target == r.Target }), r)
	})
}

// Change changes what is written of a point. If its label changes, it is also written on the snapshots.
func (k *Keeper) Change(ctx context.Context, id string, change func(*Point)) error {
	return k.locked(ctx, id, func(p Point) error {
		was := p.Label
		change(&p)
		if err := k.Store.Put(ctx, k.Do, p); err != nil || p.Label == was {
			return err
		}
		return k.mark(ctx, p, map[string]string{FactLabel: string(p.Label)})
	})
}

// locked calls do with a point as it is written now. Nobody else can change points meanwhile.
func (k *Keeper) locked(ctx context.Context, id string, do func(Point) error) error {
	unlock, err := k.Store.lockSoon(ctx, k.Do)
	if err != nil {
		return err
	}
	defer unlock()
	p, err := k.Store.Get(ctx, k.Do, id)
	if err != nil {
		return err
	}
	return do(p)
}
