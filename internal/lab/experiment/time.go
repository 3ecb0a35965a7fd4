package experiment

import (
	"cmp"
	"time"
)

// Times are how long an experiment takes, roughly: a plan, not a promise.
type Times struct {
	Loading time.Duration // making volumes and data, once
	Block   time.Duration // one block of all arms
	Least   time.Duration // with the fewest blocks
	Most    time.Duration // with the most blocks, or until the budget ends it
	Short   bool          // the budget ends before the fewest blocks are done
}

// What things take on two cores and a middling disk, as measured with MariaDB
// and rounded up: a plan that is kept too early is no harm.
const (
	copying      = 150 << 20              // bytes a second when a trial is given its data
	filling      = 50_000                 // rows of oltp a second that are loaded
	perWarehouse = 5 * time.Second        // a warehouse is loaded
	conditions   = 3 * time.Second        // the conditions of TPC-C are tested, for each warehouse
	counting     = 1 * time.Second        // rows of oltp are counted
	fresh        = 2 * time.Second        // a clone is made and dropped, the page cache emptied
	serving      = 5 * time.Second        // a server starts, tells its settings and stops
	limiting     = 8 * time.Second        // a limit is put in force and measured
	making       = 3 * time.Second        // a volume is made
	installing   = 10 * time.Second       // an empty data directory is made, and a server started and stopped
	switching    = 2 * time.Second        // a running server takes other settings
	halting      = 200 * time.Millisecond // sessions end, a server stands still and another goes on
)

// Room that data take, in bytes, before anything compresses them.
const (
	RowBytes    = 300       // of a row of oltp with its indexes
	HouseBytes  = 130 << 20 // of a warehouse
	EmptyServer = 150 << 20 // of a server without data: system tables and logs

	Copies = 3 // of the data, for which a trial wants room: what was loaded, its own copy or clone, and what it adds
)

// Estimate tells how long an experiment takes.
func Estimate(x Experiment) Times {
	var t Times
	loaded := map[string]bool{}
	for _, l := range Layouts(x) {
		if data := DataKey(l.Setup); loaded[data] {
			t.Loading += making + bytesTime(DataBytes(l.Setup))
		} else {
			t.Loading += loadingTime(l.Setup)
			loaded[data] = true
		}
	}
	for _, a := range x.Arms {
		t.Block += trialTime(x, a.Setup)
	}
	if x.Design == ABBA && len(x.Arms) > 0 { // one server for two periods of each arm
		t.Block = trialTime(x, x.Arms[0].Setup) - x.Measure + 4*x.Measure + 3*switching
	}
	if x.Design == Interleaved {
		t.Loading, t.Block = t.Loading+moreLayouts(x), t.Block+turning(x)
	}
	t.Least = t.Loading + time.Duration(x.Least)*t.Block
	t.Most = t.Loading + time.Duration(x.Most)*t.Block
	if x.Budget > 0 {
		t.Short = t.Least > x.Budget
		t.Most = min(t.Most, max(t.Least, x.Budget))
	}
	return t
}

// moreLayouts is the time for the volumes and data beyond one of each layout:
// servers that are up at once need one each. The data are copied.
func moreLayouts(x Experiment) (t time.Duration) {
	for _, l := range Layouts(x) {
		t += time.Duration(len(l.Arms)-1) * (making + bytesTime(DataBytes(l.Setup)))
	}
	return t
}

// turning is what a block takes longer because each server settles again at
// each of its turns, and halts after it.
func turning(x Experiment) time.Duration {
	n, _ := Turns(x)
	return time.Duration(n*len(x.Arms)) * (Settle + halting)
}

// DataBytes is about how much a set-up's data take before anything
// compresses them.
func DataBytes(u Setup) int64 {
	l, n := u.Load, int64(0)
	switch l.Kind {
	case OLTP:
		n = int64(cmp.Or(l.Tables, 1)) * cmp.Or(l.Rows, 10000) * RowBytes
	case TPCC:
		n = int64(cmp.Or(l.Warehouses, 1)) * HouseBytes
	case FileIO:
		n = int64(cmp.Or(l.Total, 1<<30))
	}
	if u.Server != nil {
		n += EmptyServer
	}
	return n
}

func trialTime(x Experiment, u Setup) time.Duration {
	t := fresh + bytesTime(DataBytes(u)) + x.Fill + x.Warmup + x.Measure
	if u.Server != nil {
		t += serving + checkTime(x.Checks, u.Load)
		if u.Server.UsedLogs {
			t += serving
		}
	}
	if u.Volume.Profile != "" {
		t += limiting
	}
	return t
}

func checkTime(checks []string, l Load) (t time.Duration) {
	for _, name := range checks {
		switch {
		case name == NoErrors:
		case l.Kind == TPCC:
			t += time.Duration(cmp.Or(l.Warehouses, 1)) * conditions
		default:
			t += counting
		}
	}
	return t
}

func loadingTime(u Setup) time.Duration {
	switch l := u.Load; l.Kind {
	case OLTP:
		rows := float64(cmp.Or(l.Tables, 1)) * float64(cmp.Or(l.Rows, 10000))
		return making + installing + time.Duration(rows/filling*float64(time.Second))
	case TPCC:
		return making + installing + time.Duration(cmp.Or(l.Warehouses, 1))*perWarehouse
	case FileIO:
		return making + bytesTime(DataBytes(u))
	}
	return making // fsync makes its files itself
}

func bytesTime(n int64) time.Duration {
	return time.Duration(float64(n) / copying * float64(time.Second))
}
