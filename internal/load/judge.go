package load

import (
	"fmt"
	"runtime"
	"slices"
	"time"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// Bounds beyond which a result is marked.
const (
	boundShare   = 0.70 // of the generator's own cores
	boundLag     = 0.10 // of a response, by which the pacer came late
	crowdedBusy  = 0.95 // of the machine's processors, by whomever
	crowdedShare = 0.25 // of them by the generator
	leastSeconds = 10   // a shorter run shows a phase of the server, not its rate
)

// defaultSteady is the rule a result is judged by afterwards: SNIA's, over thirty
// seconds or a third of the run.
var defaultSteady = SteadyRule{Window: 30 * time.Second, Range: 0.20, Slope: 0.10}

// result puts together what was measured and judges it.
func (r *run) result(o outcome) *Result {
	res := &Result{
		Workload: r.w.Name(), Began: r.clocks.wall.Add(o.warmup), Warmup: o.warmup, Measured: o.stopped - o.warmup,
		Threads: r.o.Threads, Seed: r.o.Seed, Pace: "closed loop",
		Series: r.series.lines, Errors: r.series.errors(), Ended: r.ended,
	}
	res.Ops, res.Total = r.series.results(r.w.Ops())
	res.Notes = r.notes()
	done := func(s Second) int64 { return s.Done }
	rates := RatesOf(res.Series, done)
	res.Rate = RateOf(res.Series, res.Measured, done)
	res.Steady = steadiness(rates, o.warmup)
	if r.gate != nil {
		res.Pace = r.o.Pace.String()
		res.Open = r.openLoop(o, res.Rate.Value)
	}
	for _, w := range r.workers {
		res.Fair = append(res.Fair, ThreadShare{w.ended.Load(), time.Duration(w.spent.Load())})
	}
	res.Client = client(o, res)
	res.Marks = r.marks(o, res)
	return res
}

func (r *run) notes() []Note {
	noted, ok := r.w.(Noted)
	if !ok {
		return nil
	}
	var all []Note
	for i, name := range noted.Notes() {
		all = append(all, Note{name, r.series.notes[i]})
	}
	return all
}

// RatesOf gives how many operations of some kind ended a second, for each whole measured second.
func RatesOf(lines []Second, ended func(Second) int64) []float64 {
	var rates []float64
	for _, s := range measuredLines(lines) {
		if s.whole() {
			rates = append(rates, float64(ended(s))/s.Length.Seconds())
		}
	}
	return rates
}

func measuredLines(lines []Second) []Second { return lines[len(warmup(lines)):] }

// whole tells a second from the splinter that is the end of a run.
func (m Second) whole() bool { return m.Length > time.Second/2 }

// RateOf gives how many operations of some kind ended a second: all that ended in the measured part, by the time it took. Its seconds
// give the interval.
func RateOf(lines []Second, took time.Duration, ended func(Second) int64) stats.Estimate {
	var all int64
	for _, s := range measuredLines(lines) {
		all += ended(s)
	}
	e := stats.Mean(RatesOf(lines, ended))
	if took <= 0 {
		return e
	}
	value := float64(all) / took.Seconds()
	if e.N > 0 {
		e.Low, e.High = e.Low+value-e.Value, e.High+value-e.Value
	}
	e.Value = value
	return e
}

func (r *run) openLoop(o outcome, served float64) *OpenLoop {
	l := &OpenLoop{Offered: float64(r.gate.offered.Load()) / (o.stopped - o.warmup).Seconds(), Served: served, Waiting: o.waiting, Lag: r.gate.lag}
	short := l.Served < 0.95*l.Offered || float64(l.Waiting) > 2*l.Offered // two seconds of work; a stall at the end is no saturation
	l.Saturated = short && l.Waiting > 2*int64(r.o.Threads)
	return l
}

func client(o outcome, res *Result) Client {
	cores := min(runtime.GOMAXPROCS(0), runtime.NumCPU())
	c := Client{CPU: o.cpu, Cores: cores, Machine: o.busy}
	c.Share = o.cpu.Seconds() / (res.Measured.Seconds() * float64(cores))
	if ended := res.Total.Done + res.Total.RolledBack + res.Total.Skipped; ended > 0 {
		c.PerOp = o.cpu / time.Duration(ended)
	}
	if c.Share > boundShare {
		c.Bound, c.BoundWhy = true, fmt.Sprintf("the generator used %.0f %% of its %d processors", 100*c.Share, cores)
	}
	if res.Open != nil && !c.Bound {
		c.BoundWhy = late(res.Open.Lag.Summary(), res.Total.Response.Summary())
		c.Bound = c.BoundWhy != ""
	}
	return c
}

// late says when the pacer's own lateness is a good part of the responses, in which it is contained. Like is compared with
// like: what one operation of a hundred waited for says nothing about the median, and little about a tail that is far longer.
func late(lag, response Summary) string {
	for _, q := range []struct {
		name          string
		lag, response time.Duration
	}{{"p50", lag.P50, response.P50}, {"p99", lag.P99, response.P99}} {
		if float64(q.lag) > boundLag*float64(q.response) && q.response > 0 {
			return fmt.Sprintf("the pacer itself was late by %s (%s), and the response is %s", units.Latency(q.lag), q.name, units.Latency(q.response))
		}
	}
	return ""
}

// marks lists every reason not to take the result at face value.
func (r *run) marks(o outcome, res *Result) (all []Mark) {
	add := func(kind, format string, args ...any) { all = append(all, Mark{kind, fmt.Sprintf(format, args...)}) }
	if o.interrupted {
		add(MarkInterrupted, "interrupted after %s", units.Span(res.Measured))
	}
	if r.ended != nil {
		kind := MarkErrors
		if classOf(r.ended) == Lost {
			kind = MarkLost
		}
		add(kind, "ended after %s: %s", units.Span(res.Measured), r.ended)
	}
	if o.stuck > 0 {
		add(MarkStuck, "%s had not ended %s after the time was up: cut off", units.Count(o.stuck, "operation"), units.Span(r.o.Grace))
	}
	if n := lost(res.Errors); n > 0 && r.ended == nil {
		add(MarkLost, "%s lost and reopened", units.Counted(n, "session", "was", "were"))
	}
	if res.Total.Failed > 0 {
		why := ""
		if len(res.Errors) > 0 {
			why = "; the most frequent error, with those that were tried again: " + res.Errors[0].Message
		}
		add(MarkErrors, "%s failed: not in the rate%s", units.Count(res.Total.Failed, "operation"), why)
	}
	if l := res.Open; l != nil && l.Saturated {
		add(MarkSaturated, "saturated: %.0f/s were due, %.0f/s were served; %d were still waiting at the end, and their response times are not included", l.Offered, l.Served, l.Waiting)
	}
	if res.Client.Bound {
		add(MarkClientBound, "client-bound: %s, so this measures the generator rather than the server", res.Client.BoundWhy)
	} else if m := res.Client.Machine; m != nil && *m > crowdedBusy && res.Client.Share > crowdedShare {
		add(MarkCrowded, "this machine's processors were %.0f %% busy, and the generator took %.0f %% of them", 100**m, 100*res.Client.Share)
	}
	if r.clocks.jumped != 0 {
		add(MarkClock, "the wall clock jumped by %s: the machine may have been suspended or moved (times are measured by the monotonic clock)", units.Span(r.clocks.jumped))
	}
	return append(all, steadyMarks(r.o, res)...)
}

func steadyMarks(o Options, res *Result) (all []Mark) {
	if res.Measured < leastSeconds*time.Second {
		return []Mark{{MarkTooShort, fmt.Sprintf("measured for %s only: servers have periods of 5 s to 15 min (checkpoints, flushing, vacuum)", units.Span(res.Measured))}}
	}
	if !res.Steady.Reached && res.Steady.Why != "" {
		all = append(all, Mark{MarkNotSteady, "throughput was never steady: " + res.Steady.Why})
	}
	if o.Until.Window > 0 && !o.Until.met(warmup(res.Series)) {
		all = append(all, Mark{MarkNotSteady, fmt.Sprintf("throughput was not steady when the warm-up reached its limit of %s", units.Span(o.Until.Limit))})
	}
	return all
}

func warmup(lines []Second) []Second {
	n := slices.IndexFunc(lines, func(s Second) bool { return !s.Warmup })
	if n < 0 {
		return lines
	}
	return lines[:n]
}

func lost(errors []ErrorCount) (n int64) {
	for _, e := range errors {
		if e.Class == Lost.String() {
			n += e.N
		}
	}
	return n
}
