package load

import (
	"errors"
	"testing"
	"time"

	"plumb/internal/host/scratch"
	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/files"
	"plumb/internal/load/fill"
	"plumb/internal/load/tpcc"
	"plumb/internal/stats"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

// madeSweep is no real measurement: five levels of a device that saturates.
func madeSweep() (Report, *files.Sweep) {
	s := &files.Sweep{Fit: files.Fit{Op: "read"}}
	var points []stats.Point
	for i, rate := range []float64{9000, 31000, 78000, 96000, 97000} {
		threads := []int{1, 4, 16, 64, 256}[i]
		mean := time.Duration(float64(threads) / rate * 1e9)
		res := &load.Result{Workload: "fileio rndrd", Measured: 30 * time.Second, Threads: threads, Seed: 7, Pace: "closed loop", Rate: stats.Estimate{Value: rate, Low: 0.99 * rate, High: 1.01 * rate, N: 20}}
		res.Total.Response = latencies(1000, mean)
		if i > 2 {
			res.Marks = []load.Mark{{Kind: load.MarkCrowded, Text: "this machine's processors were 97 % busy"}}
		}
		l := files.Level{Threads: threads, Result: &files.IOResult{Result: res}}
		slower := mean.Seconds() * 9000
		l.Ops = []files.LevelOp{{Name: "read", Rate: rate, Summary: res.Total.Response.Summary(), Slower: slower, Slower50: slower, Slower99: 1.2 * slower, Parallel: float64(threads) / slower}}
		s.Levels = append(s.Levels, l)
		points = append(points, stats.Point{Threads: threads, Rate: rate, Error: 0.01})
	}
	s.Fit.Capacity, s.Fit.Err = stats.FitCapacity(points)
	return Report{Version: "devel", Result: s.Levels[0].Result.Result, Place: "/srv/test · ext4 on vda (virtual disk)",
		Options: []Option{{"file-test-mode", "rndrd"}, {"file-num", "4"}}}, s
}

func madeFsync() *files.FsyncResult {
	flushes := 0.41
	r := &files.FsyncResult{Dir: "/srv/test", Place: scratch.Place{Type: "xfs", Disks: []scratch.Disk{{Name: "nvme0n1", Model: "Some Model 970"}}}}
	for _, row := range files.FsyncPlan() {
		m := files.FsyncMeasured{Row: row, Rate: 1234.5, Summary: latencies(1000, 800*time.Microsecond).Summary(), Flushes: &flushes}
		if row.PageWriters > 0 {
			m.Pages, m.Page = 40123, latencies(1000, 90*time.Microsecond).Summary()
		}
		r.Rows = append(r.Rows, m)
	}
	r.Rows[3].Err = errors.New("open with O_DIRECT: not possible on this filesystem")
	r.Hints = []files.Hint{{Kind: "passed-on", Text: "23115 calls of fdatasync gave 1.00 flushes each at nvme0n1: they are passed on to the disk"},
		{Kind: "too-fast", Text: "the median fdatasync took 9 µs, which no disk without a protected cache can do", Doubt: true}}
	return r
}

func madeCheck() tpcc.CheckReport {
	return tpcc.CheckReport{Elapsed: 2330 * time.Millisecond, Conditions: []tpcc.Condition{
		{Number: 1, Rule: "w_ytd is the sum of d_ytd of its districts"},
		{Number: 3, Set: 2, Rule: "new orders are numbered without a gap", Group: "district", Violations: 1234, Examples: []string{"w 1 d 2: 900 rows, 901 wanted", "w 1 d 3: none"}},
		{Number: 11, Rule: "all orders but the new ones were delivered before the load", Skipped: "transactions may have run since the load"}}}
}

func madeVerdict(lost int64) *durability.Outcome {
	v := &durability.Outcome{Header: durability.Header{Target: "/run/mysqld/mysqld.sock sbtest", Workload: "oltp_write_only", Seed: 5, Began: "2026-11-21T06:00:00Z"}, Acknowledged: 120034, Found: 120034 - lost, Lost: lost, Extra: 7}
	if lost > 0 {
		v.FirstLost, v.Torn, v.Damaged = []int64{119001, 119004}, 9, 2
	}
	return v
}

func madeCeilings() []load.Ceiling {
	return []load.Ceiling{{Target: "nothing", Threads: 1, Result: madeResult()}, {Target: "fake MySQL, SELECT 1", Threads: 8, Result: madeResult()},
		{Target: "PostgreSQL, SELECT 1", Threads: 8, Err: "open worker 1 of 8: connection refused"}}
}

// parts are the pages beside that of a run.
func parts(screen page.Screen) map[string]string {
	report, sweep := madeSweep()
	return map[string]string{
		"sweep": SweepText(report, sweep, screen), "fsync": Fsync(madeFsync(), screen), "check": TPCCCheck(madeCheck(), screen),
		"lost": Verify(madeVerdict(2), screen), "kept": Verify(madeVerdict(0), screen), "calibrate": Calibrate(madeCeilings(), 2, screen),
	}
}

func TestLoadParts(t *testing.T) {
	for name, text := range parts(page.Screen{Width: 80}) {
		viewtest.Golden(t, "load-"+name+".txt", text)
	}
	r := fill.Report{Rows: 599904, Bytes: 78 << 20, Filled: 3800 * time.Millisecond, Elapsed: 5340 * time.Millisecond, Tables: make([]fill.TableReport, 9)}
	text := Prepared("tpcc", r)
	r.Resumed, r.Verified, r.Tables = true, fill.Content, []fill.TableReport{{Name: "sbtest1", Rows: 5000, Checksum: "1f2e"}}
	text += Prepared("oltp", r)
	for _, p := range []fill.Progress{{Doing: "rows", Table: "stock", Rows: 94479, Bytes: 56 << 20, Of: 75 << 20, Rate: 28e6, Elapsed: 2 * time.Second, Left: time.Second},
		{Doing: "indexes", Table: "orders", Elapsed: 3 * time.Second}} {
		text += FillProgress(p) + "\n"
	}
	viewtest.Golden(t, "load-prepared.txt", text)
}

func TestLoadPartsFitTheScreen(t *testing.T) {
	for _, w := range []int{60, 80, 100, 120} {
		for name, text := range parts(page.Screen{Width: w}) {
			viewtest.Fits(t, name, text, w)
		}
	}
}

func TestLoadPartsFitTheirSchemas(t *testing.T) {
	report, sweep := madeSweep()
	doc, err := SweepDocument(report, sweep)
	if err != nil {
		t.Fatal(err)
	}
	viewtest.FitsSchema(t, schema.Of("load-sweep"), doc)
	viewtest.FitsSchema(t, schema.Of("load-fsync"), FsyncDocument(madeFsync(), "devel"))
	viewtest.FitsSchema(t, schema.Of("load-check"), TPCCCheckDocument(madeCheck(), "devel"))
	viewtest.FitsSchema(t, schema.Of("load-verify"), VerifyDocument(madeVerdict(2), "devel"))
	viewtest.FitsSchema(t, schema.Of("load-calibrate"), CalibrateDocument(madeCeilings(), 2, "devel"))
}
