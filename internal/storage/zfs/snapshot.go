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
