package files

import (
	"fmt"
	"time"

	"plumb/internal/host/scratch"
	"plumb/internal/load"
)

// Ways to make a write durable.
const (
	ByFsync       = "fsync"
	ByFdatasync   = "fdatasync"
	ByDsync       = "O_DSYNC"
	ByDirectDsync = "O_DIRECT+O_DSYNC"
)

// FsyncRow is one line of the probe: writers that write and make durable, one
// write after the other.
type FsyncRow struct {
	Name        string
	By          string // how
	Append      bool   // each write makes its file longer; otherwise it goes over written blocks
	Threads     int    // writers
	Shared      bool   // all write to one file
	WriteBytes  int64  // of each write
	PageWriters int    // besides: threads that write 16 KiB at random past the page cache, as a database's do
}

// FsyncConfig says what to probe.
type FsyncConfig struct {
	Dir    string
	Warmup time.Duration // of each row, left out; what the disks did is not known then
	Time   time.Duration // for each row; 0: 1.5 s
	Rows   []FsyncRow    // nil: FsyncPlan
	Size   int64         // of the files that are written over, bytes; 0: 32 MiB
	Seed   uint64
}

// FsyncMeasured is what one row gave.
type FsyncMeasured struct {
	Row     FsyncRow
	Rate    float64      // durable writes a second, all writers together
	Summary load.Summary // of write and sync together
	Pages   float64      // 16 KiB writes a second of the page writers
	Page    load.Summary // their latency
	Flushes *float64     // of the disks for each durable write; nil: unknown
	Written *float64     // bytes that the disks wrote for each byte asked; nil: unknown
	Result  *load.Result // all of it
	Err     error        // why the row could not be measured
}

// FsyncResult is the whole probe.
type FsyncResult struct {
	Dir   string
	Place scratch.Place
	Rows  []FsyncMeasured
	Hints []Hint
}

// Hint is something that speaks for or against believing an fsync. It is
// evidence, and never proof: that takes a power cut.
type Hint struct {
	Kind  string // for programs
	Text  string // for people: what was seen, and what it may mean
	Doubt bool   // it speaks against
}

// FsyncPlan is a dozen rows that tell most.
func FsyncPlan() []FsyncRow {
	over := func(by string, threads int, shared bool) FsyncRow {
		files := "separate files"
		if shared {
			files = "one file"
		}
		name := fmt.Sprintf("overwrite, %s", by)
		if threads > 1 {
			name += fmt.Sprintf(", %d threads, %s", threads, files)
		}
		return FsyncRow{Name: name, By: by, Threads: threads, Shared: shared, WriteBytes: 4096}
	}
	return []FsyncRow{
		over(ByFsync, 1, true), over(ByFdatasync, 1, true), over(ByDsync, 1, true), over(ByDirectDsync, 1, true),
		{Name: "append, fsync", By: ByFsync, Append: true, Threads: 1, Shared: true, WriteBytes: 4096},
		{Name: "append, fdatasync", By: ByFdatasync, Append: true, Threads: 1, Shared: true, WriteBytes: 4096},
		over(ByFdatasync, 4, true), over(ByFdatasync, 16, true), over(ByFdatasync, 64, true), over(ByFdatasync, 16, false),
		{Name: "overwrite 1 MiB, fdatasync", By: ByFdatasync, Threads: 1, Shared: true, WriteBytes: 1 << 20},
		{Name: "log of 4 KiB, fdatasync, beside 4 page writers", By: ByFdatasync, Append: true, Threads: 1, Shared: true, WriteBytes: 4096, PageWriters: 4},
		{Name: "log of 16 KiB, fdatasync, beside 16 page writers", By: ByFdatasync, Append: true, Threads: 1, Shared: true, WriteBytes: 16384, PageWriters: 16},
	}
}
