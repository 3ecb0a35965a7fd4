package zfs

import (
	"context"
	"strings"

	"plumb/internal/stack"
)

// snapshots of one dataset: how many, and the newest.
type snapshots struct {
	n       int64
	newest  string // after the @
	created int64  // Unix time
	txg     int64  // transaction group of the newest
}

// readSnapshots counts snapshots and finds each dataset's newest. Snapshots
// made by one command share a transaction group, which is how they can be
// told from ones made one after another. With very many of them the list
// takes long or is cut, and then nothing is said.
func (l *look) readSnapshots(ctx context.Context) {
	if len(l.datasets) == 0 {
		return
	}
	argv := []string{"zfs", "list", "-Hp", "-t", "snapshot", "-o", "name,creation,createtxg"}
	if l.fuse { // prints dates for people only
		argv = []string{"zfs", "list", "-H", "-t", "snapshot", "-o", "name"}
	}
	out, err := l.output(ctx, argv...)
	if err != nil {
		why, _ := because(err)
		for _, name := range l.sortedNames() {
			l.sight.Gap(l.datasets[name].Ref, why, "", "snapshots", "snapshot_*")
		}
		return
	}
	found := parseSnapshots(out)
	now := l.h.About().Taken.Unix()
	for _, name := range l.sortedNames() { // gaps are in order, so that a tape reads the same every time
		t, s := l.datasets[name], found[name]
		t.Set("snapshots", stack.Int(s.n), "zfs list -t snapshot")
		if s.n == 0 {
			for _, f := range []string{"snapshot_newest", "snapshot_newest_age", "snapshot_newest_txg"} {
				t.SetAbsent(f, "zfs list -t snapshot")
			}
			continue
		}
		t.Set("snapshot_newest", stack.Text(s.newest), "zfs list -t snapshot")
		if l.fuse {
			l.sight.Gap(t.Ref, "zfs-fuse does not say the moment of a snapshot", "", "snapshot_newest_age", "snapshot_newest_txg")
			continue
		}
		t.Set("snapshot_newest_age", stack.Int(max(0, now-s.created)), "zfs list -t snapshot")
		t.Set("snapshot_newest_txg", stack.Int(s.txg), "zfs list -t snapshot")
	}
}

// parseSnapshots reads lines of name, and where printed creation and
// createtxg. Without those the last one listed counts as the newest, which
// is the order ZFS lists them in.
func parseSnapshots(text []byte) map[string]snapshots {
	all := map[string]snapshots{}
	for line := range strings.Lines(string(text)) {
		f := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
		dataset, name, ok := strings.Cut(f[0], "@")
		if !ok || dataset == "" || len(f) != 1 && len(f) != 3 {
			continue
		}
		s := all[dataset]
		s.n++
		var created, txg int64
		if len(f) == 3 {
			created, _ = parseCount(f[1])
			txg, _ = parseCount(f[2])
		}
		if txg >= s.txg && created >= s.created {
			s.newest, s.created, s.txg = name, created, txg
		}
		all[dataset] = s
	}
	return all
}
