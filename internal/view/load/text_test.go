package load

import (
	"errors"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"plumb/internal/load"
	"plumb/internal/stats"
	"plumb/internal/units"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

// latencies makes a distribution with n values around a middle, with a tail.
func latencies(n int, middle time.Duration) load.Latency {
	l := load.NewLatency()
	for i := range n {
		u := (float64(i) + 0.5) / float64(n)
		l.Record(time.Duration(float64(middle) * (0.6 + 0.5*u + 0.05/(1-u))))
	}
	return l
}

// madeResult is no real measurement: it has round numbers and every part.
func madeResult() *load.Result {
	r := &load.Result{Workload: "oltp_read_write", Began: time.Date(2026, 11, 21, 6, 0, 0, 0, time.UTC), Warmup: 10 * time.Second,
		Measured: 60*time.Second + 3*time.Millisecond, Threads: 16, Seed: 4711, Pace: "closed loop",
		Rate:   stats.Estimate{Value: 1223.4, Low: 1190.1, High: 1256.7, N: 21},
		Steady: load.Steadiness{Reached: true, From: 12 * time.Second, Range: 0.08, Slope: 0.012}}
	r.Ops = []load.OpResult{{Name: "transaction", Done: 73404, Retried: 3, Counted: load.Counted{Reads: 1027656, Writes: 293616, Other: 146808}, Response: latencies(5000, 12*time.Millisecond)}}
	r.Ops[0].Service = r.Ops[0].Response
	r.Total = r.Ops[0]
	r.Total.Name = "all"
	busy := 0.83
	r.Client = load.Client{CPU: 21 * time.Second, Cores: 2, Share: 0.175, PerOp: 286 * time.Microsecond, Machine: &busy}
	r.Errors = []load.ErrorCount{{Class: "retry", Code: "1213", Message: "UPDATE sbtest1 SET k=k+1 WHERE id=?: error 1213: Deadlock found when trying to get lock; try restarting transaction", N: 3}}
	for i := range 70 {
		s := load.Second{At: time.Duration(i+1) * time.Second, Length: time.Second, Warmup: i < 10, Done: 1223 + int64(i%7), Counted: load.Counted{Reads: 17127, Writes: 4893, Other: 2446}}
		s.Response = r.Total.Response.Summary()
		s.Ops = []load.OpSecond{{Done: s.Done}}
		r.Series = append(r.Series, s)
	}
	for range 16 {
		r.Fair = append(r.Fair, load.ThreadShare{Ended: 4587, Busy: 59900 * time.Millisecond})
	}
	return r
}

func madeReport() Report {
	return Report{Version: "devel", Result: madeResult(),
		Server: &load.About{Product: "MariaDB", Version: "10.11.19", Address: "/run/mysqld/mysqld.sock", Database: "sbtest", Isolation: "REPEATABLE READ", Local: true,
			Settings: []load.Setting{{Name: "innodb_flush_log_at_trx_commit", Value: "1"}, {Name: "sync_binlog", Value: "0"}, {Name: "innodb_buffer_pool_size", Value: "134217728"}, {Name: "max_connections", Value: "151"}}},
		Options:  []Option{{"tables", "4"}, {"table-size", "100000"}, {"rand-type", "special"}, {"", "prepared statements"}},
		Warnings: []string{"special sends 76 % of the hits to 0.75 % of the rows, and never reads 60 %: about 3 MB of the 92 MB are in use"}}
}

// openReport is an open loop that a server could not keep up with, with
// several kinds of operation.
func openReport() Report {
	r := madeReport()
	res := r.Result
	res.Workload, res.Pace = "tpcc", "500/s, Poisson"
	res.Ops = nil
	for _, name := range []string{"new order", "payment", "order status", "delivery", "stock level"} {
		o := load.OpResult{Name: name, Done: 1200, Response: latencies(1000, 800*time.Millisecond), Service: latencies(1000, 9*time.Millisecond)}
		res.Ops = append(res.Ops, o)
	}
	res.Ops[3].Done, res.Ops[3].Response, res.Ops[3].Service = 0, load.NewLatency(), load.NewLatency()
	res.Total.RolledBack, res.Total.Failed = 12, 4
	for i := range res.Series {
		res.Series[i].Ops = make([]load.OpSecond, 5)
		for j := range 5 {
			res.Series[i].Ops[j].Done = int64(20 + i%3)
		}
	}
	res.Open = &load.OpenLoop{Offered: 499.8, Served: 131.2, Waiting: 22104, Saturated: true, Lag: latencies(1000, 30*time.Microsecond)}
	res.Steady = load.Steadiness{Why: "over the last 20 s it ranged over 31 % of its mean (steady: 20 %) and its trend moved by 2 % (steady: 10 %)"}
	res.Notes = []load.Note{{Name: "lines", N: 61234}, {Name: "remote lines", N: 612}}
	res.Ended = errors.New("connection closed")
	res.Marks = []load.Mark{{Kind: load.MarkSaturated, Text: "saturated: 500/s were due, 131/s were served; 22104 were still waiting at the end, and their response times are not included"},
		{Kind: load.MarkNotSteady, Text: "throughput was never steady: over the last 20 s it ranged over 31 % of its mean (steady: 20 %) and its trend moved by 2 % (steady: 10 %)"}}
	r.Headline = "3,120 new orders/min · 131 transactions/s"
	r.Audit = []Band{{"rolled back new orders", 0.9, 1.1, 0.98, 6123, "%", "pass"}, {"lines of an order", 9.5, 10.5, 10.02, 6123, "", "pass"},
		{"remote lines", 0.95, 1.05, 1.31, 61234, "%", "fail"}, {"payments of remote customers", 14, 16, 15.5, 11, "%", "too few to tell"}}
	return r
}

// fileReport is a run without a server.
func fileReport() Report {
	r := madeReport()
	r.Server, r.Place = nil, "/srv/test"
	r.Options, r.Warnings = []Option{{"file-num", "4"}, {"file-total-size", "2G"}, {"", "O_DIRECT"}}, nil
	res := r.Result
	res.Workload, res.Errors, res.Total.Retried = "fileio rndrw", nil, 0
	res.Total.ReadBytes, res.Total.WriteBytes = 1<<35, 1<<34
	return r
}

func TestLoadPages(t *testing.T) {
	viewtest.Golden(t, "load.txt", Text(madeReport(), page.Screen{Width: 100}))
	viewtest.Golden(t, "load-80.txt", Text(madeReport(), page.Screen{Width: 80}))
	viewtest.Golden(t, "load-open.txt", Text(openReport(), page.Screen{Width: 80}))
	viewtest.Golden(t, "load-files.txt", Text(fileReport(), page.Screen{Width: 80}))
}

func TestLoadFitsTheScreen(t *testing.T) {
	for _, w := range []int{60, 80, 100, 120} {
		for name, r := range map[string]Report{"closed": madeReport(), "open": openReport(), "files": fileReport()} {
			viewtest.Fits(t, name, Text(r, page.Screen{Width: w}), w)
		}
	}
}

func TestLatenciesReadWell(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ns", 850: "850ns", 1234: "1.23µs", 12345: "12.3µs", 123456: "123µs", 999400: "999µs", 999600: "1.00ms",
		4560 * time.Microsecond: "4.56ms", 999700 * time.Microsecond: "1.00s", 95 * time.Second: "95.0s", 725 * time.Second: "12m5s",
	} {
		if got := units.Latency(d); got != want {
			t.Errorf("latency(%d) = %s, want %s", d, got, want)
		}
	}
}

// TestSysbenchReport compares with what sysbench 1.0.20 printed, number by
// number replaced: every line has the same shape.
func TestSysbenchReport(t *testing.T) {
	y := Sysbench{Version: "devel", Percentile: 95}
	text := y.Head(16, time.Second)
	r := madeResult()
	for _, s := range r.Series[10:12] {
		s.All = r.Total.Response
		text += y.Interval(s, 16)
	}
	text += y.Report(r)
	viewtest.Golden(t, "load-sysbench.txt", text)
	sameShape(t, "sysbench-1.0.20-oltp.txt", text)

	y.Files = true
	s := r.Series[10]
	s.All, s.Ops = r.Total.Response, []load.OpSecond{{Counted: load.Counted{ReadBytes: 1 << 20}}, {Counted: load.Counted{WriteBytes: 1 << 19}}}
	sameShape(t, "sysbench-1.0.20-fileio.txt", y.Interval(s, 1)+"\n"+y.Report(r))
}

var number = regexp.MustCompile(`\d+(\.\d+)?`)

// sameShape wants every line of a real report of sysbench, from the first
// interval on, to be in ours, in order, whatever the numbers and the number
// of spaces between words are.
func sameShape(t *testing.T, file, got string) {
	t.Helper()
	shape := func(l string) string {
		return strings.Join(strings.Fields(number.ReplaceAllString(l, "N")), " ")
	}
	var ours []string
	for l := range strings.Lines(got) {
		ours = append(ours, shape(l))
	}
	for l := range strings.Lines(viewtest.ReadTestdata(t, file)) {
		want := shape(l)
		if want == "" {
			continue
		}
		for len(ours) > 0 && ours[0] != want {
			ours = ours[1:]
		}
		if len(ours) == 0 {
			t.Fatalf("%s has the line %q, which ours lacks", file, strings.TrimSpace(l))
		}
	}
}

// TestPeoplesScriptsReadTheReport uses expressions as they are found in
// scripts that read sysbench.
func TestPeoplesScriptsReadTheReport(t *testing.T) {
	y := Sysbench{Version: "devel", Percentile: 99}
	r := madeResult()
	s := r.Series[12]
	s.All = r.Total.Response
	text := y.Head(16, time.Second) + y.Interval(s, 16) + y.Report(r)
	for re, want := range map[string]string{
		`transactions:\s+\d+\s+\(([\d.]+) per sec\.\)`:                    "1223.34",
		`queries:\s+(\d+)\s+\([\d.]+ per sec\.\)`:                         "1468080",
		`(?m)^\s+total:\s+(\d+)`:                                          "1468080",
		`read:\s+(\d+)`:                                                   "1027656",
		`ignored errors:\s+(\d+)`:                                         "3",
		`reconnects:\s+(\d+)`:                                             "0",
		`total time:\s+([\d.]+)s`:                                         "60.0030",
		`total number of events:\s+(\d+)`:                                 "73404",
		`99th percentile:\s+([\d.]+)`:                                     "",
		`events \(avg/stddev\):\s+([\d.]+)/[\d.]+`:                        "4587.0000",
		`\[ (\d+)s \] thds: \d+ tps: [\d.]+ qps: [\d.]+`:                  "13",
		`lat \(ms,99%\): ([\d.]+) err/s: [\d.]+ reconn/s: [\d.]+`:         "",
		`\(r/w/o: ([\d.]+)/[\d.]+/[\d.]+\)`:                               "17127.00",
		`(?s)Latency \(ms\):\n\s+min:\s+[\d.]+\n\s+avg:\s+([\d.]+)\n`:     "",
		`Number of threads: (\d+)`:                                        "16",
		`(?m)^\s+execution time \(avg/stddev\):\s+([\d.]+)/[\d.]+$`:       "59.9000",
		`(?m)^\s+(?:transactions|queries):\s+\d+\s+\(([\d.]+) per sec.\)`: "1223.34",
	} {
		m := regexp.MustCompile(re).FindStringSubmatch(text)
		if m == nil {
			t.Errorf("%s does not match", re)
		} else if want != "" && m[1] != want {
			t.Errorf("%s reads %s, want %s", re, m[1], want)
		}
	}
}

func TestLoadDocument(t *testing.T) {
	for name, r := range map[string]Report{"closed": madeReport(), "open": openReport(), "files": fileReport()} {
		doc, err := Document(r)
		if err != nil {
			t.Fatal(err)
		}
		viewtest.FitsSchema(t, schema.Of("load"), doc)
		h, err := hdrhistogram.Decode([]byte(doc.Total.Response.HDR))
		if err != nil || h.TotalCount() != r.Result.Total.Response.TotalCount() {
			t.Errorf("%s: the histogram does not decode: %v", name, err)
		}
		if d := math.Abs(float64(h.ValueAtQuantile(99))/1e6 - doc.Total.Response.P99); d > 0.01 {
			t.Errorf("%s: p99 differs by %g ms", name, d)
		}
	}
}
