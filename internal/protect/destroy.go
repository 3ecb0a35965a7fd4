package protect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Gone is a line of the log of what was destroyed.
type Gone struct {
	ID      string    `json:"id"`
	Server  stack.Ref `json:"server"`
	Label   Label     `json:"label"`
	Members []Member  `json:"members"`
	At      time.Time `json:"at"`
	By      string    `json:"by"` // user
	Plumb   string    `json:"plumb"`
	Why     []string  `json:"why,omitempty"`
}

// goneLog is beside the points. It is no point, and so is not named like one.
const goneLog = "destroyed.log"

// Destroy destroys a point: its intent is written down first, so that a run which
// is killed is finished by the next. Nothing is done to one that anything depends on.
// why goes into the log of what was destroyed.
func (k *Keeper) Destroy(ctx context.Context, id string, why ...string) error {
	return k.DestroyIf(ctx, id, nil, why...)
}

// DestroyIf is Destroy for a point that is still as it was when somebody decided that it goes: still
// asks that of what is written now, while nobody else can change it.
func (k *Keeper) DestroyIf(ctx context.Context, id string, still func(Point) error, why ...string) error {
	return k.locked(ctx, id, func(p Point) error {
		if still != nil {
			if err := still(p); err != nil {
				return fmt.Errorf("destroy point %s: %w", p.ID, err)
			}
		}
		return k.begun(ctx, p, why...)
	})
}

// begun destroys a point, or finishes what was begun with it.
func (k *Keeper) begun(ctx context.Context, p Point, why ...string) error {
	switch p.State {
	case Taking: // by a run that was killed: we have the lock
		return k.takeBack(ctx, p)
	case Destroying:
		return k.goOn(ctx, p)
	}
	return k.announce(ctx, p, why...)
}

// announce writes down that a point goes, unless something depends on it, and destroys it.
func (k *Keeper) announce(ctx context.Context, p Point, why ...string) error {
	needed, err := k.Needed(ctx, k.Do, p)
	if err == nil && len(needed) > 0 {
		err = hint.With(errors.New(strings.Join(needed, "; ")), "nothing of it was destroyed")
	}
	if err != nil {
		return fmt.Errorf("destroy point %s: %w", p.ID, err)
	}
	p.State = Destroying
	if err := k.Store.Put(ctx, k.Do, p); err != nil {
		return err
	}
	return k.destroy(ctx, p, why...)
}

// Needed says what depends on a point: who holds it, and what was made of its snapshots. Its
// own ready copy does not count.
func (k *Keeper) Needed(ctx context.Context, h host.Reader, p Point) (why []string, err error) {
	for _, h := range p.Holds {
		why = append(why, "it is held by "+h.Owner)
	}
	for _, m := range slices.Concat(p.Snapshots(), p.Ready) {
		if m.Left != "" {
			continue
		}
		s, err := k.removable(ctx, h, m)
		if err != nil {
			return nil, err
		}
		if s.Now != "" {
			why = append(why, m.Snapshot+" is "+s.Now+" now")
		}
		if s.Held {
			why = append(why, "somebody holds "+m.Snapshot)
		}
		for _, clone := range s.Clones {
			if !p.OwnCopy(clone) {
				why = append(why, clone+" was made of "+m.Snapshot)
			}
		}
	}
	return why, nil
}

// OwnCopy tells whether a volume is the recovered copy that comes with a point.
func (p Point) OwnCopy(name string) bool {
	return slices.ContainsFunc(p.Ready, func(m Member) bool { return m.Name == name })
}

// MemberState asks the storage of a snapshot. One that was never made is gone.
func (k *Keeper) MemberState(ctx context.Context, h host.Reader, m Member) (MemberState, error) {
	if m.Snapshot == "" {
		return MemberState{Gone: true}, nil
	}
	s, err := k.StorageOf(m.Volume)
	if err != nil {
		return MemberState{}, err
	}
	return s.State(ctx, h, m)
}

// MemberStates is MemberState of many, in their order.
func (k *Keeper) MemberStates(ctx context.Context, h host.Reader, members []Member) []Answer {
	all := make([]Answer, len(members))
	together, surveyors := map[string][]int{}, map[string]Surveyor{} // by the storage's name
	for i, m := range members {
		s, err := k.StorageOf(m.Volume)
		if many, ok := s.(Surveyor); ok && err == nil && m.Snapshot != "" {
			together[s.Name()], surveyors[s.Name()] = append(together[s.Name()], i), many
			continue
		}
		all[i].MemberState, all[i].Err = k.MemberState(ctx, h, m)
	}
	for _, name := range slices.Sorted(maps.Keys(together)) {
		var own []Member
		for _, i := range together[name] {
			own = append(own, members[i])
		}
		for n, a := range surveyors[name].States(ctx, h, own) {
			all[together[name][n]] = a
		}
	}
	return all
}

// Unable tells why a snapshot can neither be looked at nor destroyed here; "" when it can.
func (k *Keeper) Unable(m Member) string {
	s, err := k.StorageOf(m.Volume)
	if err != nil {
		return err.Error()
	}
	if b, ok := s.(Bound); ok {
		return b.Unable(m)
	}
	return ""
}

// Told tells whether a snapshot is looked at by somebody's own command: one that finds nothing can be the wrong one.
func (k *Keeper) Told(m Member) bool {
	s, _ := k.StorageOf(m.Volume)
	_, told := s.(Bound)
	return told
}

// removable is MemberState for who is going to destroy a snapshot: it is an error, too, where that cannot be.
func (k *Keeper) removable(ctx context.Context, h host.Reader, m Member) (MemberState, error) {
	if why := k.Unable(m); why != "" {
		return MemberState{Space: -1}, errors.New(why)
	}
	return k.MemberState(ctx, h, m)
}

// goOn finishes a destruction that was begun.
func (k *Keeper) goOn(ctx context.Context, p Point) error {
	return k.destroy(ctx, p, "its destruction was begun before")
}

// destroy destroys what is left of a point. When it cannot and nothing is lost yet, the
// point is whole again.
func (k *Keeper) destroy(ctx context.Context, p Point, why ...string) error {
	err := k.unready(ctx, p)
	if err == nil {
		err = k.destroyMembers(ctx, p.Members)
	}
	if err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoTime)
		defer cancel()
		return errors.Join(fmt.Errorf("destroy point %s: %w", p.ID, err), k.restore(after, p))
	}
	line, err := json.Marshal(Gone{ID: p.ID, Server: p.Server.Ref, Label: p.Label, Members: p.Members, At: k.Now().UTC(), By: k.Do.About().User, Plumb: k.Plumb, Why: why})
	if err != nil {
		return err
	}
	if err := k.Do.Append(ctx, path.Join(k.Store.Dir, goneLog), append(line, '\n')); err != nil {
		return fmt.Errorf("note that point %s was destroyed: %w", p.ID, err)
	}
	return k.Store.Remove(ctx, k.Do, p.ID)
}

// restore takes the announcement back of a destruction that destroyed none of the snapshots. One of which a part is left where
// it is goes on: nobody knows whether it could be whole again.
func (k *Keeper) restore(ctx context.Context, p Point) error {
	if len(p.Leaves()) > 0 {
		return nil
	}
	for _, m := range p.Members {
		s, err := k.MemberState(ctx, k.Do, m)
		if err != nil || s.Usable(m) != nil {
			return err
		}
	}
	ready := func(m Member) bool {
		s, err := k.MemberState(ctx, k.Do, m)
		return err != nil || s.Usable(m) != nil
	}
	if slices.ContainsFunc(p.Ready, ready) {
		p.Ready = nil
	}
	p.State = Taken
	return k.Store.Put(ctx, k.Do, p)
}

// destroyMembers destroys snapshots, storage by storage. One that is gone is fine;
// another of the same name is left alone, and so is one that is to be left where it is.
func (k *Keeper) destroyMembers(ctx context.Context, all []Member) error {
	for _, s := range k.Storages {
		var own []Member
		for _, m := range all {
			had := slices.ContainsFunc(own, func(o Member) bool { return o.Pool == m.Pool && o.Name == m.Name && o.Snapshot == m.Snapshot })
			if m.Storage != s.Name() || m.Snapshot == "" || m.Left != "" || had {
				continue
			}
			state, err := s.State(ctx, k.Do, m)
			if err != nil {
				return err
			}
			if !state.Gone && !state.Other {
				own = append(own, m)
			}
		}
		if len(own) == 0 {
			continue
		}
		if err := s.Destroy(ctx, k.Do, own); err != nil {
			return err
		}
	}
	return nil
}
