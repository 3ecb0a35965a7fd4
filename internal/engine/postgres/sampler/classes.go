package sampler

import (
	"slices"
	"strings"

	"plumb/internal/series"
)

// waiting is the class of the wait events of a type that begin with a text.
type waiting struct {
	kind, event string
	class       series.Class
}

// waits is read from the top; the first that fits holds. Sources: the tables
// "Wait Events" of the manuals of 10 to 18, src/backend/utils/activity/wait_event_names.txt
// of 17 and 18, and src/backend/storage/lmgr/lwlock.c, which before 13 has names
// such as WALWriteLock and buffer_io.
func waits() []waiting {
	return []waiting{
		{"Lock", "", series.ClassLock},
		{"LWLock", "WALWrite", series.ClassLog},      // WALWriteLock before 13: another writes the WAL
		{"LWLock", "WALBufMapping", series.ClassLog}, // a page of wal_buffers must be written first
		{"LWLock", "buffer_io", series.ClassRead},    // before 13: another reads or writes the page
		{"LWLock", "BufferIO", series.ClassRead},     // 13
		{"LWLock", "", series.ClassLatch},
		{"LWLockNamed", "", series.ClassLatch},
		{"LWLockTranche", "", series.ClassLatch},
		{"BufferPin", "", series.ClassLatch},
		{"Buffer", "", series.ClassLatch}, // since 19: pins, and locks of pages, which were LWLocks
		{"IO", "WALRead", series.ClassRead},
		{"IO", "WAL", series.ClassLog}, // WALSync, WALWrite, WALInitSync, WALInitWrite, WALBootstrap…
		{"IO", "Wal", series.ClassLog},
		{"IO", "DataFileRead", series.ClassRead},
		{"IO", "DataFilePrefetch", series.ClassRead},
		{"IO", "DataFile", series.ClassWrite}, // Write, Extend, Flush, Sync, ImmediateSync, Truncate
		{"IO", "Aio", series.ClassRead},       // since 18; only reads are asynchronous
		{"IPC", "SyncRep", series.ClassReplica},
		{"IPC", "BufferIO", series.ClassRead}, // since 14
		{"IPC", "ProcArrayGroupUpdate", series.ClassLatch},
		{"IPC", "ProcarrayGroupUpdate", series.ClassLatch},
		{"IPC", "XactGroupUpdate", series.ClassLatch},
		{"IPC", "ClogGroupUpdate", series.ClassLatch},
		{"Timeout", "SpinDelay", series.ClassLatch}, // since 16
	}
}

// classOf gives the class of a session that runs a statement. One that waits
// for its client is not active. One that waits for nothing runs, or wants to.
func classOf(kind, event string) (c series.Class, active bool) {
	switch kind {
	case "":
		return series.ClassCPU, true
	case "Client":
		return "", false
	}
	for _, w := range waits() {
		if w.kind == kind && strings.HasPrefix(event, w.event) {
			return w.class, true
		}
	}
	if kind == "IO" {
		for _, w := range []string{"Write", "Sync", "Flush", "Extend", "Truncate"} {
			if strings.Contains(event, w) {
				return series.ClassWrite, true
			}
		}
		if strings.Contains(event, "Read") {
			return series.ClassRead, true
		}
	}
	return series.ClassOther, true
}

// forOthers tells whether a process waits for another one that works on the same statement, and does nothing else: a session for its
// parallel workers, a worker for its leader or for other workers. What their client waits for is what that one does, and it is counted.
// That workers have to be started or ended is a wait of its own. Source: the waits of type IPC of 13 to 18.
func forOthers(kind, event string) bool {
	return kind == "IPC" && (strings.HasPrefix(event, "Hash") || // of a parallel hash join
		slices.Contains([]string{"ExecuteGather", "ParallelFinish", "ParallelCreateIndexScan", "MessageQueueSend", "ParallelBitmapScan", "BtreePage"}, event))
}
