package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"plumb/internal/host/self"
)

// phase of a run.
type phase int32

const (
	warming phase = iota
	measuring
	stopping
)

// mostShards is how many there are at most: more would only cost memory.
const mostShards = 16

// run is one run under way.
type run struct {
	w         Workload
	o         Options
	thinker   Thinker // nil when nobody thinks
	start     time.Time
	phase     atomic.Int32
	measuring atomic.Int64 // time.Duration after the start: what is due before it does not count
	handed    atomic.Int64 // operations handed out
	measured  atomic.Int64 // of those, in the measured part
	gate      *gate        // nil in a closed loop
	series    *series
	workers   []*worker
	clocks    clocks
	sleeper   func() (sleep func(time.Duration), done func()) // for the pacer

	once  sync.Once
	over  chan struct{} // closed when the run ends before its time
	ended error         // why; nil when all events are done
	stop  chan struct{} // closed when workers shall stop
}

// Run drives a workload and measures it. An error means that nothing was
// measured. A run that ends early, because the server went, an operation
// failed for good or ctx was cancelled, is a result that says so.
func Run(ctx context.Context, w Workload, o Options) (*Result, error) {
	r, err := newRun(w, o)
	if err != nil {
		return nil, err
	}
	defer r.closeWorkers()
	if err := r.open(ctx); err != nil {
		return nil, err
	}
	return r.drive(ctx), nil
}

func newRun(w Workload, o Options) (*run, error) {
	switch {
	case o.Threads < 1:
		return nil, fmt.Errorf("threads is %d: at least one is needed", o.Threads)
	case o.Time <= 0 && o.Events <= 0:
		return nil, errors.New("neither a time nor a number of events is given: the run would not end")
	}
	if o.Grace == 0 {
		o.Grace = 10 * time.Second
	}
	r := &run{w: w, o: o, over: make(chan struct{}), stop: make(chan struct{}), sleeper: exactly}
	r.thinker, _ = w.(Thinker)
	if o.Pace != nil {
		if r.thinker != nil {
			return nil, errors.New("a rate and think times cannot be combined: give one")
		}
		r.gate = newGate(o.Pace)
	}
	r.series = newSeries(len(w.Ops()), min(o.Threads, runtime.GOMAXPROCS(0), mostShards), r.gate != nil)
	for i := range o.Threads {
		r.workers = append(r.workers, &worker{run: r, index: i, shard: r.series.shards[i%len(r.series.shards)]})
	}
	return r, nil
}

// exactly sleeps as exactly as the kernel can.
func exactly() (sleep func(time.Duration), done func()) {
	s := self.NewSleeper()
	return s.Sleep, s.Close
}

// open opens every worker before the clock starts, some at a time: a server
// that is asked for hundreds of sessions at once refuses some.
func (r *run) open(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, w := range r.workers {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if _, err := w.open(ctx); err != nil {
				cancel(fmt.Errorf("open worker %d of %d: %w", w.index+1, r.o.Threads, err))
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// now is the time since the start. It never jumps.
func (r *run) now() time.Duration { return time.Since(r.start) }

// end ends the run before its time; the first reason counts.
func (r *run) end(why error) {
	r.once.Do(func() {
		r.ended = why
		close(r.over)
	})
}

// drive runs the phases and gives the result.
func (r *run) drive(ctx context.Context) *Result {
	if r.o.Warmup == 0 && r.o.Until.Window == 0 {
		r.begin(measuring)
	} else {
		r.measuring.Store(math.MaxInt64) // nothing that is due in the warm-up counts as offered
	}
	r.clocks = startClocks()
	r.start = r.clocks.start
	idle := r.work()
	var out outcome
	out.warmup = r.warm(ctx)
	before := self.CPU()
	busy := self.Machine()
	r.measure(ctx, out.warmup)
	out.stopped = r.now()
	out.waiting = r.gate.waiting()
	r.phase.Store(int32(stopping))
	close(r.stop)
	r.gate.close()
	out.stuck = r.wait(idle)
	if r.o.Events > 0 && r.measured.Load() > r.o.Events {
		out.stopped = r.now() // the last operations belong to what was asked for
	}
	out.cpu = self.CPU() - before
	out.busy = self.Machine().Since(busy)
	out.interrupted = ctx.Err() != nil
	r.series.cut(r.now(), measuring, stopping, out.waiting)
	return r.result(out)
}

// outcome is what drive saw of a run as a whole.
type outcome struct {
	warmup      time.Duration // how long it was
	stopped     time.Duration // when measuring ended
	cpu         time.Duration // of this process while measuring
	busy        *float64      // part of all processors' time that was used, by whomever; nil for unknown
	waiting     int64
	stuck       int
	interrupted bool
}

// begin sets the phase before anybody works.
func (r *run) begin(p phase) {
	r.phase.Store(int32(p))
	for _, s := range r.series.shards {
		s.phase = p
	}
}

// work starts the workers and the pacer; the channel is closed when all have
// stopped.
func (r *run) work() (idle chan struct{}) {
	var working sync.WaitGroup
	for _, w := range r.workers {
		working.Go(w.work)
	}
	if r.gate != nil {
		working.Go(func() { r.gate.pace(r.o.Pace, r) })
	}
	idle = make(chan struct{})
	go func() {
		working.Wait()
		r.end(nil)
		close(idle)
	}()
	return idle
}

// warm drives the warm-up and gives when it ended.
func (r *run) warm(ctx context.Context) time.Duration {
	if phase(r.phase.Load()) == measuring {
		return 0
	}
	until := r.o.Warmup
	steady := r.o.Until.Window > 0
	if steady {
		until = max(r.o.Warmup, r.o.Until.Limit)
	}
	enough := func(s Second) bool { return steady && s.At >= r.o.Warmup && r.o.Until.met(r.series.lines) }
	r.tick(ctx, until, warming, enough)
	r.show(r.series.cut(r.now(), warming, measuring, r.gate.waiting()))
	now := r.now()
	r.measuring.Store(int64(now))
	r.phase.Store(int32(measuring))
	return now
}

// measure drives the measured part. Its last second stays open for the
// operations that are still under way.
func (r *run) measure(ctx context.Context, from time.Duration) {
	until := time.Duration(1<<63 - 1)
	if r.o.Time > 0 {
		until = from + r.o.Time
	}
	r.tick(ctx, until, measuring, func(Second) bool { return false })
}

// tick cuts a line each second until a time, the end of the run, or until it
// is enough. The remainder of the last second is left to the caller.
func (r *run) tick(ctx context.Context, until time.Duration, p phase, enough func(Second) bool) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for next := r.series.lastCut + time.Second; ; next += time.Second {
		timer.Reset(min(next, until) - r.now())
		select {
		case <-ctx.Done():
			return
		case <-r.over:
			return
		case <-timer.C:
		}
		now := r.now()
		r.clocks.compare(now)
		if until-now < time.Second/10 { // a splinter would be a second with a tenth of the work
			if until > now {
				time.Sleep(until - now)
			}
			return
		}
		line := r.series.cut(now, p, p, r.gate.waiting())
		r.show(line)
		if enough(line) {
			return
		}
	}
}

func (r *run) show(s Second) {
	if r.o.OnSecond != nil {
		r.o.OnSecond(s)
	}
}

// wait gives the operations under way their time to end, and then ends them
// by closing their sessions. It gives the number of those.
func (r *run) wait(idle chan struct{}) (stuck int) {
	select {
	case <-idle:
		return 0
	case <-time.After(r.o.Grace):
	}
	for _, w := range r.workers {
		if w.busy.Load() {
			stuck++
		}
	}
	r.closeWorkers()
	select {
	case <-idle:
	case <-time.After(r.o.Grace): // not even closing helped: leave it behind
	}
	return stuck
}

func (r *run) closeWorkers() {
	for _, w := range r.workers {
		w.close()
	}
}
