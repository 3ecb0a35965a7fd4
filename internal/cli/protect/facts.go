package protect

import (
	"context"
	"slices"

	"plumb/internal/protect"
	"plumb/internal/protect/keep"
)

// facts asks the storages what has become of the snapshots of points.
func (m *machine) facts(ctx context.Context, points []protect.Point) map[string]keep.Facts {
	all := map[string]keep.Facts{}
	for _, p := range points {
		var f keep.Facts
		for _, one := range slices.Concat(p.Members, p.Ready) {
			if one.Snapshot != "" {
				m.fact(ctx, p, one, &f)
			}
		}
		all[p.ID] = f
	}
	return all
}

// fact adds what a storage tells of one snapshot.
func (m *machine) fact(ctx context.Context, p protect.Point, one protect.Member, f *keep.Facts) {
	state, err := m.keeper.MemberState(ctx, m.doer, one)
	switch {
	case err != nil:
		f.Unread, f.Space = err.Error(), -1
		return
	case state.Gone || state.Other:
		f.Gone = append(f.Gone, one.Snapshot)
		return
	}
	f.Held = f.Held || state.Held
	for _, c := range state.Clones {
		if !p.OwnCopy(c) {
			f.Clones = append(f.Clones, c)
		}
	}
	if f.Space >= 0 && state.Space >= 0 {
		f.Space += state.Space
	} else {
		f.Space = -1
	}
}
