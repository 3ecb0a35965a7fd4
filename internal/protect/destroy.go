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

// Gone is a line of the log of destroyed points.
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

// goneLog is the log's name. It lies beside the points, and so must not match pointFiles.
const goneLog = "destroyed.log"

// Destroy destroys a point. It writes down first that it will, so that the next run finishes what a killed run began. If anything
// depends on the point nothing is done, and it is an error. The reasons in why go into the log of destroyed points.
func (k *Keeper) Destroy(ctx context.Context, id string, why ...string) error {
	return k.DestroyIf(ctx, id, nil, why...)
}

// DestroyIf is Destroy for a point that was chosen some time ago. While nobody else can change the point, still is called with what
// is written of it now; its error says that the point is no longer what was chosen, and nothing is destroyed.
func (k *Keeper) DestroyIf(ctx context.Context, id string, still func(Point) error, why ...string) error {
	return k.locked(ctx, id, func(p Point) error {
		if still != nil {
			if err := still(p); err != nil {
				return fmt.Errorf("destroy point %s: %w", p.ID, err)
			}
		}
		return k.destroyAny(ctx, p, why...)
	})
}

// destroyAny destroys a point in any state: it also finishes a destruction that was begun, and takes back a point whose run was killed.
func (k *Keeper) destroyAny(ctx context.Context, p Point, why ...string) error {
	switch p.State {
	case Taking: // by a run that was killed: we have the lock
		return k.takeBack(ctx, p)
	case Destroying:
		return k.goOn(ctx, p)
	}
	return k.announce(ctx, p, why...)
}

// announce writes down that a point is to be destroyed, and destroys it. It is an error if anything depends on the point.
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

// Needed says what depends on a point: its holds, and the clones of its snapshots other than its own ready copy.
func (k *Keeper) Needed(ctx context.Context, h host.Reader, p Point) (why []string, err error) {
	for _, hold := range p.Holds {
		why = append(why, "it is held by "+hold.Owner)
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

// OwnCopy tells whether a volume belongs to the recovered copy that is kept with a point.
func (p Point) OwnCopy(name string) bool {
	return slices.ContainsFunc(p.Ready, func(m Member) bool { return m.Name == name })
}

// MemberState asks the storage what has become of a snapshot. One that was never made is Gone.
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

// MemberStates is MemberState for many snapshots. The answers are in the order of members.
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

// Unable says why a snapshot can be neither looked at nor destroyed here; "" when it can.
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

// Told tells whether a snapshot is on a storage that somebody told us the commands for. When such a command finds nothing, the
// snapshot can still be there: the command can be the wrong one.
func (k *Keeper) Told(m Member) bool {
	s, _ := k.StorageOf(m.Volume)
	_, told := s.(Bound)
	return told
}

// removable is MemberState, but also an error where the snapshot could not be destroyed here.
func (k *Keeper) removable(ctx context.Context, h host.Reader, m Member) (MemberState, error) {
	if why := k.Unable(m); why != "" {
		return MemberState{Space: -1}, errors.New(why)
	}
	return k.MemberState(ctx, h, m)
}

// goOn finishes a destruction that an earlier run began.
func (k *Keeper) goOn(ctx context.Context, p Point) error {
	return k.destroy(ctx, p, "an earlier run began to destroy it")
}

// destroy destroys what is left of a point that is announced to be destroyed. If that fails before any snapshot was lost, the
// announcement is taken back.
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
		return fmt.Errorf("record that point %s was destroyed: %w", p.ID, err)
	}
	return k.Store.Remove(ctx, k.Do, p.ID)
}

// restore takes back the announcement that a point is destroyed, if all of its snapshots are still there. It does not for a point of
// which snapshots are to be left where they are, as nobody knows about those.
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

// destroyMembers destroys snapshots, one storage after the other. It passes over those that are gone, those whose name belongs to
// another snapshot now, and those that are to be left where they are.
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
