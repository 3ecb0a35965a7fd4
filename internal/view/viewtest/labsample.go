package viewtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
	"plumb/internal/load"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// The sample is no real measurement: its records come out of a generator with
// a fixed seed, in the shape and size of real ones.

type sampleArm struct {
	filesystem string
	sync       int
	rate       float64 // operations a second
	stall      int     // every so many seconds one stands still; 0 for never
}

func sampleArms() []sampleArm {
	return []sampleArm{{"ext4", 0, 5230, 0}, {"ext4", 1, 2410, 9}, {"ext4", 1000, 5190, 0}, {"xfs", 0, 5010, 0}, {"xfs", 1, 2840, 0}}
}

func (a sampleArm) name() string { return fmt.Sprintf("%s, %d", a.filesystem, a.sync) }

// SampleExperiment is an experiment with two axes.
func SampleExperiment() experiment.Experiment {
	x := experiment.Experiment{Name: "sync-binlog", Question: "How much does sync_binlog = 1 cost on ext4 and on XFS?", Source: "seed:binlog-02",
		Published: []experiment.Published{{Arm: "ext4, 1", Value: 5263, Unit: "tps", Note: "28 cores, SATA SSD, 80 GB pool"}, {Arm: "xfs, 1", Value: 6101, Unit: "tps"}},
		Notes:     "The published numbers come from a machine with 28 cores and a SATA SSD of its own. Here two cores serve the client as well, and the volume is held to 3000 requests a second, so that a flush is what costs most.",
		Axes: []experiment.Axis{{Name: "filesystem", Levels: []experiment.Level{{Name: "ext4"}, {Name: "xfs"}}},
			{Name: "sync_binlog", Levels: []experiment.Level{{Name: "0"}, {Name: "1"}, {Name: "1000"}}}},
		Pairs:  []experiment.Pair{{Arm: "ext4, 1", Baseline: "ext4, 0"}, {Arm: "ext4, 1000", Baseline: "ext4, 0"}, {Arm: "xfs, 1", Baseline: "xfs, 0"}},
		Design: experiment.Blocks, Least: 3, Most: 8, Warmup: 5 * time.Second, Measure: 20 * time.Second, Until: 0.05, Budget: 15 * time.Minute,
		Metric: "rate", Margin: 0.05, Checks: []string{"no-errors", "consistency"}, Seed: 1, Hash: "4f1d2c90aa7730e1b2c3d4e5f60718293a4b5c6d7e8f90a1b2c3d4e5f6071829"}
	for _, a := range sampleArms() {
		x.Arms = append(x.Arms, experiment.Arm{Name: a.name(), Levels: map[string]string{"filesystem": a.filesystem, "sync_binlog": fmt.Sprint(a.sync)}, Setup: experiment.Setup{
			Volume: experiment.Volume{Kind: experiment.Loop, Size: 4 << 30, Filesystem: a.filesystem, Profile: "iops=3000,mbps=125"},
			Server: &experiment.Server{Engine: "mariadb", Memory: 1 << 30, Settings: map[string]string{"innodb_buffer_pool_size": "256M", "log_bin": "ON", "sync_binlog": fmt.Sprint(a.sync)}},
			Load:   experiment.Load{Kind: experiment.OLTP, Script: "oltp_write_only", Tables: 4, Rows: 50000, Threads: 8},
		}})
	}
	return x
}

// SampleRecords are those of a run with one trial that does not count.
func SampleRecords(blocks int) (all []experiment.Record) {
	x := SampleExperiment()
	rng := rand.New(rand.NewPCG(7, 11))
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for b := 1; b <= blocks; b++ {
		shift := math.Exp(0.03 * rng.NormFloat64())
		for pos, i := range rng.Perm(len(x.Arms)) {
			r := SampleRecord(x, i, shift*math.Exp(0.02*rng.NormFloat64()), rng)
			r.Block, r.Position, r.Seed, r.Began, r.Ended = b, pos+1, uint64(1000+b), at, at.Add(34*time.Second)
			r.ID = fmt.Sprintf("%.12s-%03d-%03d-1", x.Hash, b, pos+1)
			at = at.Add(37 * time.Second)
			if b == 2 && i == 4 {
				r.Mark(experiment.MarkThrottle, "the volume gave 4120 requests a second where 3000 were asked for")
			}
			all = append(all, r)
		}
	}
	return all
}

// SampleRecord is the record of trial i of an experiment.
func SampleRecord(x experiment.Experiment, i int, factor float64, rng *rand.Rand) experiment.Record {
	a, arm := sampleArms()[i], x.Arms[i]
	r := experiment.Record{Trial: experiment.Trial{Arm: arm.Name}, Experiment: x.Hash, Attempt: 1, Setup: arm.Setup, Program: "MariaDB 10.11.14", Plumb: "devel",
		Effective: map[string]string{"innodb_buffer_pool_size": "268435456", "log_bin": "ON", "sync_binlog": fmt.Sprint(a.sync), "innodb_flush_log_at_trx_commit": "1"},
		Volume: experiment.VolumeFacts{Path: "/var/tmp/lab/data", Filesystem: a.filesystem, Options: "rw,relatime", Device: "loop3", Cloned: "reflink",
			Limits: []experiment.LimitFact{{What: "write IOPS", Asked: 3000, Measured: 2991 + float64(rng.IntN(20))}, {What: "write MB/s", Asked: 125, Measured: 124.2}}},
		Files: map[string]string{"stack.tape": "9b74c9897bac770ffc029102a200c5de"}}
	if a.filesystem == "ext4" {
		r.Volume.Cloned = "copy"
	}
	rate := a.rate * factor
	l, seconds, done := load.NewLatency(), []float64{}, int64(0)
	noise := 0.0
	for s := 1; s <= 25; s++ {
		noise = 0.5*noise + 0.04*rng.NormFloat64()
		n := rate * math.Exp(noise)
		if s <= 5 {
			n *= 0.55 + 0.09*float64(s)
		}
		if a.stall > 0 && s%a.stall == a.stall-1 {
			n *= 0.03
		}
		middle := 8000 / rate
		r.Series = append(r.Series, experiment.Second{At: float64(s), Length: 1, Warmup: s <= 5, Done: int64(n), P50: middle, P99: 4 * middle, Max: 11 * middle})
		if s > 5 {
			seconds, done = append(seconds, n), done+int64(n)
		}
	}
	for range 4000 {
		v := 8000 / rate * math.Exp(0.45*rng.NormFloat64())
		if a.stall > 0 && rng.IntN(120) == 0 {
			v += 300 + 500*rng.Float64()
		}
		_ = l.RecordValues(int64(v*1e6), max(1, done/4000))
	}
	packed, _ := l.Packed()
	r.Rate = stats.Mean(seconds)
	r.Metric = r.Rate.Value
	r.Ops = []experiment.Op{{Name: "transaction", Done: done, Histogram: packed}}
	r.Costs = sampleCosts(a, rng)
	return r
}

func sampleCosts(a sampleArm, rng *rand.Rand) []experiment.Cost {
	near := func(v float64) float64 { return v * math.Exp(0.02*rng.NormFloat64()) }
	fsyncs := 0.2
	if a.sync == 1 {
		fsyncs = 0.9
	}
	return []experiment.Cost{
		{Layer: "client", Name: "CPU", Unit: "us/op", Value: near(58), From: "getrusage of the generator"},
		{Layer: "server", Name: "CPU", Unit: "us/op", Value: near(246), From: "its control group"},
		{Layer: "server", Name: "written", Unit: "B/op", Value: near(3480), From: "the server's own counters"},
		{Layer: "server", Name: "fsyncs", Unit: "1/op", Value: near(fsyncs), From: "the server's own counters"},
		{Layer: "device", Name: "written", Unit: "B/op", Value: near(6900 + 4000*fsyncs), From: "/proc/diskstats"},
		{Layer: "device", Name: "flushes", Unit: "1/op", Value: near(fsyncs), From: "/proc/diskstats"},
		{Layer: "device", Name: "write amplification", Unit: "ratio", Value: near(1.98 + fsyncs), From: "device written by server written"},
		{Layer: "space", Name: "used", Unit: "B", Value: near(512 << 20), From: "the filesystem"},
	}
}

// SampleReport judges the sample in a makeshift way: what is tested here is
// how a report is shown, not how it is come by.
func SampleReport(blocks int) report.Report {
	x, records := SampleExperiment(), SampleRecords(blocks)
	r := report.Report{Experiment: x, Records: records, Done: blocks, Complete: true, Stopped: "±5 % reached", Smallest: 0.031,
		Noise: stats.Estimate{Value: 0.021, Low: 0.015, High: 0.034, N: blocks}, Began: records[0].Began, Took: records[len(records)-1].Ended.Sub(records[0].Began),
		Answer: "sync_binlog = 1 costs 58 % of the throughput on ext4 (49 to 65 %) and 44 % on XFS (42 to 45 %). sync_binlog = 1000 makes no difference on ext4."}
	for _, a := range x.Arms {
		r.Arms = append(r.Arms, sampleArmResult(x, a, records))
	}
	words := []string{report.Worse, report.Equivalent, report.Worse}
	for i, p := range x.Pairs {
		v := report.Comparison{Pair: p, Word: words[i], Effect: sampleEffect(p, records), P: 0.0002, Margin: x.Margin, Smallest: r.Smallest}
		v.Sentence = fmt.Sprintf("%s against %s: %s, %s.", p.Arm, p.Baseline, v.Word, units.Differs(v.Effect))
		r.Verdicts = append(r.Verdicts, v)
	}
	for _, rec := range records {
		if !rec.Valid() {
			r.Invalid = append(r.Invalid, report.Invalid{Trial: rec.Trial, Attempt: rec.Attempt, Marks: rec.Marks})
		}
	}
	return r
}

func sampleArmResult(x experiment.Experiment, a experiment.Arm, records []experiment.Record) report.ArmResult {
	out := report.ArmResult{Name: a.Name}
	var rates []float64
	whole := load.NewLatency()
	costs := map[string][]float64{}
	var order []experiment.Cost
	var seconds, stalled float64
	for _, r := range records {
		if r.Arm != a.Name || !r.Valid() {
			continue
		}
		rates = append(rates, r.Metric)
		l, _ := load.Unpack(r.Ops[0].Histogram)
		whole.Merge(l.Histogram)
		for _, c := range r.Costs {
			if costs[c.Layer+c.Name] == nil {
				order = append(order, c)
			}
			costs[c.Layer+c.Name] = append(costs[c.Layer+c.Name], c.Value)
		}
		for _, s := range r.Series {
			if seconds++; float64(s.Done) < r.Metric/10 {
				stalled++
			}
		}
	}
	out.Trials, out.Metric, out.Variation, out.Stalls = len(rates), stats.Mean(rates), 0.06, 1000*stalled/seconds
	s := whole.Summary()
	near5 := func(d time.Duration) stats.Estimate {
		v := 1000 * d.Seconds()
		return stats.Estimate{Value: v, Low: 0.96 * v, High: 1.05 * v, N: len(rates)}
	}
	out.Latency = report.Latency{N: s.N, Mean: near5(s.Mean), P50: near5(s.P50), P95: near5(s.P95), P99: near5(s.P99), Max: near5(s.Max)}
	for _, c := range order {
		out.Costs = append(out.Costs, report.CostResult{Layer: c.Layer, Name: c.Name, Unit: c.Unit, From: c.From, Estimate: stats.Mean(costs[c.Layer+c.Name])})
	}
	if i := slices.IndexFunc(x.Published, func(p experiment.Published) bool { return p.Arm == a.Name }); i >= 0 {
		out.Published = &x.Published[i]
	}
	return out
}

func sampleEffect(p experiment.Pair, records []experiment.Record) stats.Estimate {
	at := map[string]map[int]float64{}
	for _, r := range records {
		if at[r.Arm] == nil {
			at[r.Arm] = map[int]float64{}
		}
		if r.Valid() {
			at[r.Arm][r.Block] = r.Metric
		}
	}
	var logs []float64
	for b := 1; b <= len(at[p.Baseline]); b++ {
		if at[p.Arm][b] > 0 && at[p.Baseline][b] > 0 {
			logs = append(logs, math.Log(at[p.Arm][b]/at[p.Baseline][b]))
		}
	}
	e := stats.Mean(logs)
	return stats.Estimate{Value: math.Expm1(e.Value), Low: math.Expm1(e.Low), High: math.Expm1(e.High), N: e.N}
}

// UnfinishedReport has an arm that could not run, one trial only, and
// comparisons of which nothing is known yet.
func UnfinishedReport() report.Report {
	r := SampleReport(1)
	r.Complete, r.Stopped, r.Smallest, r.Answer = false, "", math.NaN(), "After 1 of at most 8 blocks nothing can be said yet."
	r.Arms[2].Failed, r.Arms[2].Trials, r.Arms[2].Metric, r.Arms[2].Latency, r.Arms[2].Costs = "the server refused its configuration: unknown variable 'sync_binlogs=1000'", 0, stats.Estimate{}, report.Latency{}, nil
	r.Verdicts[0].Word, r.Verdicts[0].More, r.Verdicts[0].Effect.Low, r.Verdicts[0].Effect.High = report.Undecided, 4, math.Inf(-1), math.Inf(1)
	r.Verdicts[1].Word, r.Verdicts[1].Effect = report.Undecided, stats.Estimate{Value: math.NaN(), Low: math.NaN(), High: math.NaN()}
	for i := range r.Verdicts {
		r.Verdicts[i].Sentence = ""
	}
	return r
}
