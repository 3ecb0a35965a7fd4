package zfs

import (
	"slices"
	"strconv"
	"strings"

	"plumb/internal/zfs"
)

// syncTimes reads how long the last transaction groups took to be written,
// in microseconds, from a pool's txgs kstat. Groups still on their way have
// no time yet.
func syncTimes(text []byte) []int64 {
	const maxGroups = 10_000
	var times []int64
	column := -1
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if column < 0 {
			column = slices.Index(fields, "stime")
			continue
		}
		if len(fields) <= column || len(fields) < 3 || fields[2] != "C" || len(times) == maxGroups {
			continue
		}
		if ns, ok := zfs.ParseCount(fields[column]); ok {
			times = append(times, ns/1000)
		}
	}
	return times
}

// Group is a transaction group that was written.
type Group struct {
	Number int64
	Dirty  int64 // bytes that were dirty in it when its writing began
	Wait   int64 // ns it waited for the one before
	Sync   int64 // ns its writing took
}

// NewestGroup finds the newest group in a pool's txgs kstat that is written.
// What was dirty is not told before that (spa_txg_history_fini_io). ok is false
// where there is none, as with zfs_txg_history=0.
func NewestGroup(text []byte) (newest Group, ok bool) {
	columns := map[string]int{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(columns) == 0 {
			for i, f := range fields {
				columns[f] = i
			}
			continue
		}
		if g, written := groupOf(fields, columns); written && (!ok || g.Number > newest.Number) {
			newest, ok = g, true
		}
	}
	return newest, ok
}

func groupOf(fields []string, columns map[string]int) (g Group, written bool) {
	for _, c := range []struct {
		name string
		into *int64
	}{{"txg", &g.Number}, {"ndirty", &g.Dirty}, {"wtime", &g.Wait}, {"stime", &g.Sync}} {
		i, have := columns[c.name]
		if !have || i >= len(fields) {
			return g, false
		}
		n, isNumber := zfs.ParseCount(fields[i])
		if !isNumber || n < 0 {
			return g, false
		}
		*c.into = n
	}
	i, have := columns["state"]
	return g, have && i < len(fields) && fields[i] == "C"
}

func parseHex(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 16, 64)
	return n, err == nil
}
