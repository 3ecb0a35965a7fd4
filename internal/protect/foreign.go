package protect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Foreign is a snapshot of a volume that others took. Plumb lists and clones it, but never destroys it or writes facts on it.
type Foreign struct {
	Member
	At time.Time `json:"at"`
}

// Lister is a storage that can list the snapshots others took.
type Lister interface {
	// Foreign lists the snapshots of a volume that belong to no point of any Plumb, oldest first.
	Foreign(ctx context.Context, h host.Reader, v Volume) ([]Foreign, error)
}

// Foreign lists the snapshots that others took of the volumes. The error names the volumes that could not be read; the snapshots of
// the rest are returned all the same.
func (k *Keeper) Foreign(ctx context.Context, h host.Reader, vols []Volume) (all []Foreign, err error) {
	for i, v := range vols {
		if slices.ContainsFunc(vols[:i], func(w Volume) bool { return v.Storage == w.Storage && v.Name == w.Name }) {
			continue
		}
		s, unknown := k.StorageOf(v)
		if unknown != nil {
			continue
		}
		if l, ok := s.(Lister); ok {
			found, failed := l.Foreign(ctx, h, v)
			all, err = append(all, found...), errors.Join(err, failed)
		}
	}
	return all, err
}

// Volumes lists the volumes the servers keep data on. It leaves out servers that cannot be looked at.
func (k *Keeper) Volumes(ctx context.Context, h host.Reader, s *stack.Stack, servers []stack.Ref) (all []Volume) {
	for _, ref := range servers {
		e, err := k.engine(ref.Kind)
		if err != nil {
			continue
		}
		if sv, _, err := e.Describe(ctx, h, s, ref); err == nil {
			if set, err := k.findSet(ctx, h, s, e, sv); err == nil {
				all = append(all, set.Volumes...)
			}
		}
	}
	return all
}

// ByOthers tells whether a point consists of snapshots that others took. Such a point is written down nowhere.
func (p Point) ByOthers() bool { return IsForeign(p.ID) }

// IsForeign tells whether the name that somebody gave for a point is that of a snapshot others took.
func IsForeign(id string) bool { return strings.Contains(id, "@") }

// LikeID tells whether the name that somebody gave for a point begins like an ID. No kind of server does.
func LikeID(text string) bool { return strings.HasPrefix(text, "2") }

// Tag is a name of the point that can be part of other names: the ID of foreign ones has an @ in it.
func (p Point) Tag() string {
	if p.ByOthers() && len(p.Members) > 0 {
		return "of-" + p.Members[0].GUID
	}
	return p.ID
}

// ForeignPoint makes a point of the snapshots of one name that others took of a server. The server must be running: how to start a
// copy can only be learned from it.
func (k *Keeper) ForeignPoint(ctx context.Context, h host.Reader, s *stack.Stack, servers []stack.Ref, snapshot string) (Point, error) {
	dataset, name, _ := strings.Cut(snapshot, "@")
	for _, ref := range servers {
		plan, err := k.Plan(ctx, h, s, ref)
		if slices.ContainsFunc(plan.Set.Volumes, func(v Volume) bool { return v.Name == dataset }) {
			var p Point
			if err == nil {
				p, err = k.foreign(ctx, h, plan, name)
			}
			if err != nil {
				err = fmt.Errorf("make a point of %s: %w", snapshot, err)
			}
			p.ID = snapshot
			return p, err
		}
	}
	return Point{}, hint.With(fmt.Errorf("no server that runs here keeps data on %s", dataset),
		"start the server that the snapshot is of: only from it does Plumb know how to start a copy. plumb protect list --foreign shows what can be named")
}

func (k *Keeper) foreign(ctx context.Context, h host.Reader, plan Plan, name string) (Point, error) {
	if len(plan.Set.Strays) > 0 {
		return Point{}, plan.Possible()
	}
	all, err := k.Foreign(ctx, h, plan.Set.Volumes)
	if err != nil {
		return Point{}, err
	}
	p := Point{State: Taken, Host: k.Host, Plumb: k.Plumb, Server: plan.Server, Mode: ModeCrash, Label: Crash,
		Doubts: []string{"others took it: how is not known", "its copy is started with the program and the settings that the server has now"}}
	for _, v := range plan.Set.Volumes {
		i := slices.IndexFunc(all, func(f Foreign) bool {
			return f.Storage == v.Storage && f.Name == v.Name && strings.HasSuffix(f.Snapshot, "@"+name)
		})
		if i < 0 {
			return Point{}, hint.With(fmt.Errorf("%s also keeps data on %s, which has no snapshot named %s", plan.Server.Ref, v.Name, name), "plumb protect list --foreign shows what there is")
		}
		p.Members = append(p.Members, Member{Volume: v, Snapshot: all[i].Snapshot, GUID: all[i].GUID, Birth: all[i].Birth})
		p.Times.Began, p.Times.Snapshot, p.Times.Ended = all[i].At, all[i].At, all[i].At
	}
	if plan.Set.Apart != "" || !sameBirth(p.Members) {
		return Point{}, hint.With(errors.New("the snapshots are not of one moment"), "they must be taken in one command: sanoid with recursive = zfs, zfs snapshot -r")
	}
	for _, m := range plan.Modes {
		if m.Name == ModeCrash && m.Not != "" {
			p.Doubts = append(p.Doubts, "snapshots taken without a lock are not enough for this server: "+m.Not)
		}
	}
	return p, nil
}
