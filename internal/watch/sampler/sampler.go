package sampler

import (
	"context"
	"sync"
	"time"

	"plumb/internal/await"
	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
	"plumb/internal/watch"
)

// Options say what is sampled.
type Options struct {
	Host    host.Reader
	Finders []sample.Finder
	// Look reads the host as a whole. It is called at the start, every Again,
	// and when a server came, went or was restarted.
	Look  func(ctx context.Context) (*stack.Stack, error)
	Again time.Duration // 0: ten minutes
	// Own tells of a statement's text whether we ran it ourselves; nil: nobody knows.
	Own func(text string) bool
}

// again is how far apart pictures are where nothing happens.
const again = 10 * time.Minute

// Run samples until ctx ends. Its error is that of the first look: a host that
// cannot be read once has nothing to sample.
func Run(ctx context.Context, o Options, sinks ...watch.Sink) error {
	if o.Again == 0 {
		o.Again = again
	}
	first, err := o.Look(ctx)
	if err != nil {
		return err
	}
	r := &run{Options: o, out: newFan(sinks), running: map[string]context.CancelFunc{}}
	defer r.out.close()
	defer r.all.Wait()
	r.out.picture(first)
	r.adapt(ctx, first)
	r.keepLooking(ctx)
	return nil
}

// run is one sampling.
type run struct {
	Options
	out     *fan
	all     sync.WaitGroup
	running map[string]context.CancelFunc // sources by name; only keepLooking's goroutine uses it
}

// adapt starts the sources that a picture has and that do not run, and ends
// those it has no more.
func (r *run) adapt(ctx context.Context, s *stack.Stack) {
	found := map[string]sample.Source{}
	var order []string
	for _, f := range r.Finders {
		for _, source := range f.Sources(s) {
			if found[source.Name()] == nil {
				order = append(order, source.Name())
			}
			found[source.Name()] = source
		}
	}
	for name, stop := range r.running {
		if found[name] == nil {
			stop()
			delete(r.running, name)
		}
	}
	for _, name := range order {
		if r.running[name] != nil {
			continue
		}
		own, stop := context.WithCancel(ctx)
		r.running[name] = stop
		source := found[name]
		r.all.Go(func() { r.sample(own, source) })
	}
}

// restart ends all sources, so that they begin anew with what a new picture
// says of their servers.
func (r *run) restart() {
	for name, stop := range r.running {
		stop()
		delete(r.running, name)
	}
}

// watchEvery is how often it is asked cheaply whether servers came or went, and
// settle how long one that came is left to start before it is looked at. Where
// they come and go all the time a look costs more than it tells: soonest.
const (
	watchEvery = 5 * time.Second
	settle     = 2 * time.Second
	soonest    = 15 * time.Second
)

// keepLooking reads the host again when it is time, or servers changed.
func (r *run) keepLooking(ctx context.Context) {
	seen := newCensus(r.Host)
	seen.changed(ctx)
	last, changed := time.Now(), false
	for await.Pause(ctx, watchEvery) == nil {
		changed = seen.changed(ctx) || changed
		if ago := time.Since(last); ago < r.Again && !(changed && ago >= soonest) {
			continue
		}
		if changed && await.Pause(ctx, settle) != nil {
			return
		}
		last = time.Now()
		s, err := r.Look(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			r.out.batch(about(time.Now(), "read this host again: "+err.Error()))
			continue
		}
		if changed {
			r.restart()
		}
		changed = false
		r.out.picture(s)
		r.adapt(ctx, s)
	}
}

// about is a batch of the sampler's own: a gap.
func about(at time.Time, why string) series.Batch {
	return series.Batch{Source: "sampler", Every: watchEvery, At: at, Gaps: []series.Gap{{Why: why}}}
}

// fan hands what comes to all sinks, in one order.
type fan struct {
	mu    sync.Mutex
	sinks []*queue
}

func newFan(sinks []watch.Sink) *fan {
	f := &fan{}
	for _, s := range sinks {
		f.sinks = append(f.sinks, newQueue(s))
	}
	return f
}

func (f *fan) close() {
	for _, q := range f.sinks {
		q.close()
	}
}

func (f *fan) picture(s *stack.Stack) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := now()
	for _, q := range f.sinks {
		q.put(item{at: at, picture: s})
	}
}

// batch stamps a batch with the moment its answer is handed on, so that the
// order of time is the order in which all sinks see it.
func (f *fan) batch(b series.Batch) {
	f.mu.Lock()
	defer f.mu.Unlock()
	b.At = now()
	for i := range b.Gaps {
		b.Gaps[i].Why = units.Start(b.Gaps[i].Why, longest)
	}
	for _, q := range f.sinks {
		q.put(item{at: b.At, batch: b})
	}
}

// now is the wall clock alone: what is recorded has no monotonic clock, and what
// is replayed must compare as it did live.
func now() time.Time { return time.Now().UTC().Round(0) }

// longest is as much of an error as a gap says.
const longest = 300
