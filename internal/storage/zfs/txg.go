package zfs

import (
	"strings"

	"plumb/internal/zfs"
)

// Txg is a transaction group that was written.
type Txg struct {
	Number     int64
	Dirty      int64 // bytes that were to be written
	Wait, Sync int64 // µs: waited for the one before, was written
}

// NewestTxg reads a pool's txgs kstat and gives the newest group that was
// written. What is dirty in a group is filled in when it was written: of one that
// is open or on its way the kernel shows 0.
func NewestTxg(text []byte) (newest Txg, ok bool) {
	var columns map[string]int
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if columns == nil {
			if len(fields) > 0 && fields[0] == "txg" {
				columns = map[string]int{}
				for i, f := range fields {
					columns[f] = i
				}
			}
			continue
		}
		t := Txg{}
		if len(fields) != len(columns) || !in(columns, fields, "state", nil) || fields[columns["state"]] != "C" {
			continue
		}
		read := in(columns, fields, "txg", &t.Number) && in(columns, fields, "ndirty", &t.Dirty) &&
			in(columns, fields, "wtime", &t.Wait) && in(columns, fields, "stime", &t.Sync)
		if read && t.Number >= newest.Number {
			newest, ok = t, true
		}
	}
	newest.Wait, newest.Sync = newest.Wait/1000, newest.Sync/1000
	return newest, ok
}

// in reads the number in a column, when asked for; false when there is none.
func in(columns map[string]int, fields []string, name string, n *int64) bool {
	at, ok := columns[name]
	if !ok || at >= len(fields) {
		return false
	}
	if n != nil {
		*n, ok = zfs.ParseCount(fields[at])
	}
	return ok
}
