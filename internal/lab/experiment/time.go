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

// What things take on two cores and a middling disk. They are on the slow
// side: a plan that is kept too early is no harm.
const (
	copying      = 150 << 20        // bytes a second when a trial is given its data
	filling      = 20_000           // rows a second that are loaded
	perWarehouse = 500_000          // rows of a warehouse, with its indexes
	rowBytes     = 250              // of a row of oltp with its indexes
	houseBytes   = 100 << 20        // of a warehouse
	emptyServer  = 200 << 20        // of a server without data: system tables and logs
	fresh        = 2 * time.Second  // a clone is made and dropped, the page cache emptied
	serving      = 8 * time.Second  // a server starts, tells its settings and stops
	limiting     = 8 * time.Second  // a limit is put in force and measured
	checking     = 3 * time.Second  // an invariant is tested
	making       = 3 * time.Second  // a volume is made
	installing   = 15 * time.Second // an empty data directory is made
	switching    = 2 * time.Second  // a running server takes other settings
)

// Estimate tells how long an experiment takes.
func Estimate(x Experiment) Times {
	var t Times
	for _, l := range Layouts(x) {
		t.Loading += loadingTime(l.Setup)
	}
	for _, a := range x.Arms {
		t.Block += trialTime(x, a.Setup)
	}
	if x.Design == ABBA && len(x.Arms) > 0 { // one server for two periods of each arm
		t.Block = trialTime(x, x.Arms[0].Setup) - x.Measure + 4*x.Measure + 3*switching
	}
	t.Least = t.Loading + time.Duration(x.Least)*t.Block
	t.Most = t.Loading + time.Duration(x.Most)*t.Block
	if x.Budget > 0 {
		t.Short = t.Least > x.Budget
		t.Most = min(t.Most, max(t.Least, x.Budget))
	}
	return t
}

// DataBytes is about how much a set-up's data take before anything
// compresses them.
func DataBytes(u Setup) int64 {
	l, n := u.Load, int64(0)
	switch l.Kind {
	case OLTP:
		n = int64(cmp.Or(l.Tables, 1)) * cmp.Or(l.Rows, 10000) * rowBytes
	case TPCC:
		n = int64(cmp.Or(l.Warehouses, 1)) * houseBytes
	case FileIO:
		n = int64(cmp.Or(l.Total, 1<<30))
	}
	if u.Server != nil {
		n += emptyServer
	}
	return n
}

func trialTime(x Experiment, u Setup) time.Duration {
	t := fresh + bytesTime(DataBytes(u)) + x.Warmup + x.Measure
	if u.Load.Kind == Fsync { // needs no warm-up
		t -= x.Warmup
	}
	if u.Server != nil {
		t += serving + time.Duration(len(x.Checks))*checking
	}
	if u.Volume.Profile != "" {
		t += limiting
	}
	return t
}

func loadingTime(u Setup) time.Duration {
	t, rows := making, int64(0)
	switch l := u.Load; l.Kind {
	case OLTP:
		rows = int64(cmp.Or(l.Tables, 1)) * cmp.Or(l.Rows, 10000)
	case TPCC:
		rows = int64(cmp.Or(l.Warehouses, 1)) * perWarehouse
	case FileIO:
		return t + bytesTime(DataBytes(u))
	case Fsync:
		return t
	}
	return t + installing + time.Duration(float64(rows)/filling*float64(time.Second))
}

func bytesTime(n int64) time.Duration {
	return time.Duration(float64(n) / copying * float64(time.Second))
}
