package zfs

import (
	"context"

	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// readSnapshots counts snapshots and finds each dataset's newest. Snapshots
// made by one command share a transaction group, which is how they can be
// told from ones made one after another. With very many of them the list
// takes long or is cut, and then nothing is said.
func (l *look) readSnapshots(ctx context.Context) {
	if len(l.datasets) == 0 {
		return
	}
	out, err := l.output(ctx, l.tools.Snapshots()...)
	if err != nil {
		why, _ := because(err)
		for _, name := range l.sortedNames() {
			l.obs.Gap(l.datasets[name].Ref, why, "", "snapshots", "snapshot_*")
		}
		return
	}
	found := zfs.ParseSnapshots(out)
	now := l.h.About().Taken.Unix()
	l.heldBySnapshots(found, now)
	for _, name := range l.sortedNames() { // gaps are in order, so that a tape reads the same every time
		t, s := l.datasets[name], found[name]
		t.Set("snapshots", stack.Int(s.Count), "zfs list -t snapshot")
		if s.Count == 0 {
			t.Absent("zfs list -t snapshot", "snapshot_newest", "snapshot_newest_age", "snapshot_newest_txg")
			continue
		}
		t.Set("snapshot_newest", stack.Text(s.Newest), "zfs list -t snapshot")
		if l.tools.Fuse {
			l.obs.Gap(t.Ref, "zfs-fuse does not say the moment of a snapshot", "", "snapshot_newest_age", "snapshot_newest_txg")
			continue
		}
		t.Set("snapshot_newest_age", stack.Int(max(0, now-s.Created)), "zfs list -t snapshot")
		t.Set("snapshot_newest_txg", stack.Int(s.TXG), "zfs list -t snapshot")
	}
}

// heldBySnapshots adds up what snapshots hold in each pool, and how fast that grew. A pool of
// which a dataset does not tell has neither.
func (l *look) heldBySnapshots(found map[string]zfs.Snapshots, now int64) {
	const source, day = "zfs get usedbysnapshots, zfs list -t snapshot", 86400
	for pool, t := range l.pools {
		var held int64
		growth, complete, dated := 0.0, len(l.datasets) > 0, true
		for name, d := range l.datasets {
			if zfs.PoolOf(name) != pool {
				continue
			}
			n, known := d.Int("usedbysnapshots")
			complete = complete && known
			held += n
			s := found[name]
			switch {
			case n == 0:
			case s.Oldest == 0:
				dated = false
			default: // what one busy hour left says little of a week
				growth += float64(n) / float64(max(now-s.Oldest, day))
			}
		}
		if !complete {
			continue
		}
		t.Set("snapshots_used", stack.Int(held), source)
		if dated {
			t.Set("snapshots_growth", stack.Float(growth), source)
		}
	}
}
