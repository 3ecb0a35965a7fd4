package lab

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"plumb/internal/host"
	"plumb/internal/lab/experiment"
	"plumb/internal/load"
	"plumb/internal/units"
)

// bench is a trial that is set up: a copy of the data, its limits, and a
// server when there is one.
type bench struct {
	lab     *Lab
	layout  *layout
	setup   experiment.Setup
	data    string
	control control
	server  *server // nil: files alone
	undo    []func(context.Context) error
	quiet   bool // how far a load is, is told elsewhere
}

// trial carries one trial out and fills its record in.
func (l *Lab) trial(ctx context.Context, x experiment.Experiment, r *experiment.Record) (err error) {
	b, err := l.setUp(ctx, r, 1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close(context.WithoutCancel(ctx))) }()
	if err := b.fill(ctx, x, r); err != nil {
		return err
	}
	captured := b.captureLate(ctx, x, r)
	m, err := b.measure(ctx, x, r.Trial, r.Seed, x.Warmup)
	captured()
	if err != nil {
		return err
	}
	keep(x, r, m)
	b.finish(ctx, x, r)
	return nil
}

// setUp makes all that a trial needs, in the order in which it must stand.
func (l *Lab) setUp(ctx context.Context, r *experiment.Record, place int) (*bench, error) {
	made, err := l.layoutOf(ctx, r.Trial, r.Setup, place)
	if err != nil {
		return nil, err
	}
	b := &bench{lab: l, layout: made, setup: r.Setup}
	if err := b.build(ctx, r); err != nil {
		return nil, errors.Join(err, b.close(context.WithoutCancel(ctx)))
	}
	return b, nil
}

func (b *bench) build(ctx context.Context, r *experiment.Record) (err error) {
	l, v := b.lab, b.layout.volume
	l.say(Progress{Trial: r.Trial, Doing: "copying the data"})
	b.later(v.Drop)
	var how string
	if b.data, how, err = v.Clone(ctx); err != nil {
		return fmt.Errorf("copy the data: %w", err)
	}
	if err := adopt(b.setup.Load, b.data); err != nil {
		return err
	}
	if err := b.hostSettings(ctx); err != nil {
		return err
	}
	if err := b.limitMemory(ctx, r); err != nil {
		return err
	}
	if err := b.apart(ctx, r.Trial); err != nil {
		return err
	}
	if err := b.useLogs(ctx, r.Trial); err != nil {
		return err
	}
	b.later(v.Unlimit)
	l.say(Progress{Trial: r.Trial, Doing: "measuring the volume's limit"})
	limits, err := v.Limit(ctx)
	if err != nil {
		r.Mark(experiment.MarkThrottle, "%v", err)
	}
	if r.Volume, err = v.Facts(ctx); err != nil {
		return err
	}
	r.Volume.Limits, r.Volume.Cloned = limits, how
	if b.setup.Server == nil {
		return nil
	}
	return b.serve(ctx, r)
}

// serve starts the server and reads back what it made of its settings.
func (b *bench) serve(ctx context.Context, r *experiment.Record) (err error) {
	l := b.lab
	r.Program = b.layout.server.Product
	l.say(Progress{Trial: r.Trial, Doing: "starting the server"})
	if b.server, err = l.start(ctx, b.layout, *b.setup.Server, b.data, b.control); err != nil {
		return err
	}
	b.later(b.server.stop)
	b.later(b.layout.volume.Unlimit) // or what it writes when it stops goes through 200 requests a second
	effective, err := b.effective(ctx)
	if err != nil {
		return fmt.Errorf("read the settings back: %w", err)
	}
	b.compare(r, effective)
	if l.Capture != nil && !l.Late {
		l.say(Progress{Trial: r.Trial, Doing: "recording the stack"})
		b.capture(ctx, r)
	}
	return nil
}

// captureLate records the stack when four fifths of the load are over: what
// clients wait for can only be seen while they do. What it gives waits until
// that is done; a load that failed before then is not recorded.
func (b *bench) captureLate(ctx context.Context, x experiment.Experiment, r *experiment.Record) (wait func()) {
	if b.lab.Capture == nil || !b.lab.Late {
		return func() {}
	}
	done := make(chan struct{})
	late := time.AfterFunc(x.Warmup+x.Measure*4/5, func() {
		defer close(done)
		b.capture(ctx, r)
	})
	return func() {
		if !late.Stop() {
			<-done
		}
	}
}

// capture records the full stack while the server runs.
func (b *bench) capture(ctx context.Context, r *experiment.Record) {
	l := b.lab
	tape, err := l.Capture(ctx)
	if err == nil {
		r.Files["stack.tape"], err = l.Ledger.Put(ctx, tape)
	}
	if err != nil && ctx.Err() == nil {
		r.Remark("no-capture", "the stack could not be recorded: %v", err)
	}
}

func (b *bench) effective(ctx context.Context) (map[string]string, error) {
	a, err := b.server.load.Admin(ctx)
	if err != nil {
		return nil, err
	}
	defer a.Close()
	return b.layout.engine.Effective(ctx, a)
}

// compare keeps the settings in force, and marks a trial whose server has
// others than the arm says.
func (b *bench) compare(r *experiment.Record, effective map[string]string) {
	r.Effective = effective
	asked := maps.Clone(b.setup.Server.Create)
	if asked == nil {
		asked = map[string]string{}
	}
	maps.Copy(asked, b.setup.Server.Settings)
	for _, name := range slices.Sorted(maps.Keys(asked)) {
		if have, known := b.layout.engine.Lookup(effective, name); !known {
			r.Remark(experiment.MarkNotAsAsked, "the server does not report %s, so it is not known whether %q is in force", name, asked[name])
		} else if !b.layout.engine.Same(name, asked[name], have) {
			r.Mark(experiment.MarkNotAsAsked, "%s is %s on the running server, but %s was requested", name, have, asked[name])
		}
	}
}

// target is the server that is put under load; nil: files alone.
func (b *bench) target() load.Server {
	if b.server == nil {
		return nil
	}
	return b.server.load
}

// measured is what one run of the load gave.
type measured struct {
	result *load.Result
	costs  []experiment.Cost
	stolen *float64 // part of the processors' time that others were given meanwhile; nil when not known
}

// measure drives the load and counts what it costs each layer.
func (b *bench) measure(ctx context.Context, x experiment.Experiment, t experiment.Trial, seed uint64, warmup time.Duration) (m measured, err error) {
	stop, err := b.beside(ctx)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	counting := b.counting()
	watched := b.watch(ctx, x, t, warmup, counting)
	m.result, err = drive(ctx, b.setup.Load, b.target(), b.data, seed, load.Options{Time: x.Measure, Warmup: warmup})
	watched()
	m.stolen = counting.stolen()
	if err != nil {
		return m, err
	}
	m.costs = counting.end(ctx, m.result)
	return m, nil
}

// watch takes the first reading when the warm-up is over, and tells how far
// the load is. What it gives ends it.
func (b *bench) watch(ctx context.Context, x experiment.Experiment, t experiment.Trial, warmup time.Duration, c *counting) (stop func()) {
	if warmup == 0 {
		c.begin(ctx)
	}
	over, ended := make(chan struct{}), make(chan struct{})
	began := time.Now()
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		warm := time.After(warmup)
		for {
			select {
			case <-over:
				return
			case <-warm:
				c.begin(ctx)
			case <-tick.C:
				if !b.quiet {
					b.lab.say(b.lab.driving(x, t, time.Since(began), warmup))
				}
			}
		}
	}()
	return func() { close(over); <-ended }
}

func (l *Lab) driving(x experiment.Experiment, t experiment.Trial, since, warmup time.Duration) Progress {
	if since < warmup {
		return Progress{Trial: t, Doing: "warming up", Elapsed: since, Of: warmup}
	}
	return Progress{Trial: t, Doing: "measuring", Elapsed: since - warmup, Of: x.Measure}
}

// finish tests the invariants and keeps the server's log.
func (b *bench) finish(ctx context.Context, x experiment.Experiment, r *experiment.Record) {
	if b.server == nil {
		return
	}
	b.check(ctx, x, r)
	if log, err := b.lab.Box.Do.ReadFile(b.lab.theirs(ctx), b.server.log); err == nil || errors.Is(err, host.ErrTooLarge) {
		if sha, err := b.lab.Ledger.Put(ctx, log); err == nil {
			r.Files["server.log"] = sha
		}
	}
	if kills, known := b.control.kills(ctx); known && kills > 0 {
		r.Mark(experiment.MarkFailed, "the kernel killed the server because memory ran out: %s", units.Count(kills, "time"))
	}
}

func (b *bench) later(f func(context.Context) error) { b.undo = append(b.undo, f) }

func (b *bench) close(ctx context.Context) error {
	var all []error
	for _, f := range slices.Backward(b.undo) {
		all = append(all, f(ctx))
	}
	b.undo = nil
	return errors.Join(all...)
}
