package load

import (
	"fmt"
	"math"
	"strings"
	"time"

	"plumb/internal/load"
	"plumb/internal/view/page"
)

// Sysbench prints what sysbench 1.0.20 prints, so that scripts that read it
// work: the head, one line each interval, the report at the end. Percentile is
// the one of its latency lines; 0 leaves it out.
type Sysbench struct {
	Version    string // of Plumb
	Percentile int
	Files      bool // the report of fileio rather than that of the database scripts
}

// Head is what comes before the first interval.
func (y Sysbench) Head(threads int, interval time.Duration) string {
	text := fmt.Sprintf("sysbench 1.0.20 report (printed by plumb %s)\n\nRunning the test with following options:\nNumber of threads: %d\n", y.Version, threads)
	if interval > 0 {
		text += fmt.Sprintf("Report intermediate results every %.0f second(s)\n", interval.Seconds())
	}
	return text + "\n\nInitializing worker threads...\n\nThreads started!\n\n"
}

// Interval is the line of one interval. Seconds of the series that belong
// together are merged before.
func (y Sysbench) Interval(s load.Second, threads int) string {
	per := func(n int64) float64 { return float64(n) / max(s.Length.Seconds(), 1e-9) }
	at := s.At.Round(time.Second).Seconds()
	if y.Files {
		var read, written int64
		for _, o := range s.Ops {
			read, written = read+o.ReadBytes, written+o.WriteBytes
		}
		return fmt.Sprintf("[ %.0fs ] reads: %.2f MiB/s writes: %.2f MiB/s fsyncs: %.2f/s latency (ms,%d%%): %.3f\n",
			at, per(read)/(1<<20), per(written)/(1<<20), per(s.Other), y.Percentile, y.shown(s))
	}
	return fmt.Sprintf("[ %.0fs ] thds: %d tps: %.2f qps: %.2f (r/w/o: %.2f/%.2f/%.2f) lat (ms,%d%%): %.2f err/s: %.2f reconn/s: %.2f\n",
		at, threads, per(s.Done), per(s.Reads+s.Writes+s.Other), per(s.Reads), per(s.Writes), per(s.Other),
		y.Percentile, y.shown(s), per(s.Retried+s.Failed), per(s.Lost))
}

// shown is the percentile that was asked for, of one interval.
func (y Sysbench) shown(s load.Second) float64 {
	if y.Percentile <= 0 || s.All.Histogram == nil || s.All.TotalCount() == 0 {
		return 0
	}
	return min(page.Ms(time.Duration(s.All.ValueAtQuantile(float64(y.Percentile)))), page.Ms(s.Response.Max))
}

// Report is what comes at the end.
func (y Sysbench) Report(r *load.Result) string {
	var b strings.Builder
	if y.Files {
		y.files(&b, r)
	} else {
		y.queries(&b, r)
	}
	fmt.Fprintf(&b, "General statistics:\n    total time:                          %.4fs\n    total number of events:              %d\n\n",
		r.Measured.Seconds(), events(r))
	y.latencies(&b, r)
	fairness(&b, r.Fair)
	return b.String()
}

func (y Sysbench) queries(b *strings.Builder, r *load.Result) {
	t, secs := r.Total, max(r.Measured.Seconds(), 1e-9)
	all := t.Reads + t.Writes + t.Other
	b.WriteString("SQL statistics:\n    queries performed:\n")
	for _, l := range []struct {
		name string
		n    int64
	}{{"read:", t.Reads}, {"write:", t.Writes}, {"other:", t.Other}, {"total:", all}} {
		fmt.Fprintf(b, "        %-32s %d\n", l.name, l.n)
	}
	for _, l := range []struct {
		name string
		n    int64
	}{{"transactions:", events(r)}, {"queries:", all}, {"ignored errors:", t.Retried + t.Failed}, {"reconnects:", lostSessions(r)}} {
		fmt.Fprintf(b, "    %-36s %-6d (%.2f per sec.)\n", l.name, l.n, float64(l.n)/secs)
	}
	b.WriteString("\n")
}

func (y Sysbench) files(b *strings.Builder, r *load.Result) {
	t, secs := r.Total, max(r.Measured.Seconds(), 1e-9)
	b.WriteString("\nFile operations:\n")
	for _, l := range []struct {
		name string
		v    float64
	}{{"reads/s:", float64(t.Reads)}, {"writes/s:", float64(t.Writes)}, {"fsyncs/s:", float64(t.Other)}} {
		fmt.Fprintf(b, "    %-29s %.2f\n", l.name, l.v/secs)
	}
	b.WriteString("\nThroughput:\n")
	fmt.Fprintf(b, "    %-29s %.2f\n    %-29s %.2f\n\n", "read, MiB/s:", float64(t.ReadBytes)/(1<<20)/secs, "written, MiB/s:", float64(t.WriteBytes)/(1<<20)/secs)
}

func (y Sysbench) latencies(b *strings.Builder, r *load.Result) {
	l := r.Total.Response
	s := l.Summary()
	b.WriteString("Latency (ms):\n")
	line := func(name string, v float64) { fmt.Fprintf(b, "         %-36s %10.2f\n", name, v) }
	line("min:", page.Ms(s.Min))
	line("avg:", page.Ms(s.Mean))
	line("max:", page.Ms(s.Max))
	if y.Percentile > 0 && s.N > 0 {
		line(fmt.Sprintf("%dth percentile:", y.Percentile), math.Min(page.Ms(time.Duration(l.ValueAtQuantile(float64(y.Percentile)))), page.Ms(s.Max)))
	} else {
		line("95th percentile:", 0)
	}
	line("sum:", float64(s.N)*page.Ms(s.Mean))
	b.WriteString("\n")
}

// fairness is how evenly the threads were served.
func fairness(b *strings.Builder, threads []load.ThreadShare) {
	var ended, busy []float64
	for _, t := range threads {
		ended, busy = append(ended, float64(t.Ended)), append(busy, t.Busy.Seconds())
	}
	e, eDev := spread(ended)
	s, sDev := spread(busy)
	fmt.Fprintf(b, "Threads fairness:\n    events (avg/stddev):           %.4f/%.2f\n    execution time (avg/stddev):   %.4f/%.2f\n\n", e, eDev, s, sDev)
}

// spread is the mean and the standard deviation of values, which are all there
// are and no sample.
func spread(values []float64) (mean, deviation float64) {
	n := float64(max(len(values), 1))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(deviation)
}

// events are all operations that ended as intended: sysbench counts those that
// were rolled back on purpose, too.
func events(r *load.Result) int64 { return r.Total.Done + r.Total.RolledBack + r.Total.Skipped }

func lostSessions(r *load.Result) (n int64) {
	for _, s := range r.Series {
		if !s.Warmup {
			n += s.Lost
		}
	}
	return n
}
