package load

import (
	"slices"
	"time"

	"plumb/internal/stats"
)

// Result is what a run measured. Warm-up is not in it, except in Series.
type Result struct {
	Workload string
	Began    time.Time     // wall clock, of the measured part
	Warmup   time.Duration // as it was
	Measured time.Duration // exact length of the measured part
	Threads  int
	Seed     uint64
	Pace     string // "closed loop", "500/s, Poisson"

	Ops    []OpResult
	Total  OpResult       // all kinds together
	Rate   stats.Estimate // operations a second, with the interval of the per-second values
	Notes  []Note         // the workload's own counts
	Series []Second       // one each second, warm-up included and marked
	Steady Steadiness
	Open   *OpenLoop // nil in a closed loop
	Client Client
	Errors []ErrorCount
	Marks  []Mark        // reasons not to take this result at face value
	Fair   []ThreadShare // what each thread did, in order
	Ended  error         // why the run stopped before its time; nil when it did not
}

// OpResult is one kind of operation.
type OpResult struct {
	Name       string
	Done       int64 // succeeded: the only ones that count as throughput
	RolledBack int64 // ended by an intended rollback
	Skipped    int64 // found nothing to do
	Failed     int64 // gave up after retries, or could not be retried
	Retried    int64 // attempts that failed and were tried again
	Counted
	Response Latency // from when it was due (open loop) or begun (closed loop) to its end, retries included
	Service  Latency // from when a worker began it to its end; in a closed loop the same as Response
}

// ThreadShare is what one thread did while measuring.
type ThreadShare struct {
	Ended int64         // operations that succeeded, rollbacks and empty ones included
	Busy  time.Duration // within operations that succeeded
}

// Note is a count of the workload's own.
type Note struct {
	Name string
	N    int64
}

// Second is one line of the series.
type Second struct {
	At      time.Duration // end of the interval, after the start of the run
	Length  time.Duration // exact
	Warmup  bool
	Done    int64
	Failed  int64
	Retried int64
	Counted
	Lost     int64 // sessions lost
	Waiting  int64 // operations due and not begun (open loop)
	Response Summary
	Ops      []OpSecond
	All      Latency // behind Response; only while OnSecond runs, for lines of several seconds
}

// Add puts the next second to those before it. Percentiles come from the merged
// histogram, never from averaging.
func (m *Second) Add(s Second) {
	if m.All.Histogram == nil {
		m.All = NewLatency()
	}
	all := m.All
	all.Merge(s.All.Histogram)
	if m.Length == 0 {
		*m = s
		m.Ops = slices.Clone(s.Ops)
	} else {
		m.At, m.Waiting = s.At, s.Waiting
		m.Length += s.Length
		m.Done += s.Done
		m.Failed += s.Failed
		m.Retried += s.Retried
		m.Counted.add(s.Counted)
		m.Lost += s.Lost
		for i, o := range s.Ops {
			m.Ops[i].Done += o.Done
			m.Ops[i].Counted.add(o.Counted)
		}
	}
	m.All, m.Response = all, all.Summary()
}

// DoneOf gives how many operations of a kind succeeded; none where the kinds are not told apart.
func (m Second) DoneOf(op int) int64 {
	if op >= len(m.Ops) {
		return 0
	}
	return m.Ops[op].Done
}

// OpSecond is one kind of operation in one second.
type OpSecond struct {
	Done int64
	Counted
	Response Summary
}

// OpenLoop is what only an open loop can say.
type OpenLoop struct {
	Offered   float64 // operations a second that were due
	Served    float64 // operations a second that ended
	Waiting   int64   // due and not begun when the time was up
	Saturated bool    // the server could not keep up
	Lag       Latency // how late the pacer itself was: the generator's own error
}

// Steadiness is the judgement over the measured part.
type Steadiness struct {
	Reached bool
	From    time.Duration // after the start of the run
	Range   float64       // of the last window, as a part of its mean
	Slope   float64       // likewise
	Why     string        // in words, when never reached or too short to tell
}

// Client is what the generator itself used while measuring.
type Client struct {
	CPU      time.Duration // user and system
	Cores    int           // it could use
	Share    float64       // part of those cores' time that it used
	Machine  *float64      // part of the machine's processor time that was used, by whomever; nil when unknown
	PerOp    time.Duration // CPU for each operation
	Bound    bool          // it was likely the generator that was measured
	BoundWhy string
}

// ErrorCount counts errors of one code.
type ErrorCount struct {
	Class   string // "retry", "lost", "fatal"
	Code    string
	Message string // of the first
	N       int64
}

// Mark is a reason not to take a result at face value.
type Mark struct {
	Kind string // MarkClientBound, …: for programs
	Text string // for people
}

// Kinds of marks.
const (
	MarkClientBound = "client-bound"
	MarkSaturated   = "saturated"
	MarkNotSteady   = "not-steady"
	MarkTooShort    = "too-short"
	MarkInterrupted = "interrupted"
	MarkLost        = "server-lost"
	MarkErrors      = "errors"
	MarkClock       = "clock-jumped"
	MarkCrowded     = "crowded" // generator and server fought for the processors
	MarkStuck       = "left-hanging"
)
