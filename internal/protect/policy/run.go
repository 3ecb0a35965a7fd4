package policy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/protect"
	"plumb/internal/protect/keep"
	"plumb/internal/stack"
)

// Acts is what a run calls on.
type Acts interface {
	// Servers gives those of this host that run and can have points.
	Servers(ctx context.Context) ([]stack.Ref, error)
	// Points gives all that are written down, and what is known of their snapshots, by ID.
	Points(ctx context.Context) ([]protect.Point, map[string]keep.Facts, error)
	// Do does one act. A drill whose copy did not start is an error here.
	Do(ctx context.Context, a Act) error
}

// Runner does what is due.
type Runner struct {
	Do    host.Doer
	Acts  Acts
	File  string // where it is written down: File, but for tests
	Now   func() time.Time
	Kinds []Kind    // what is done, in this order; nil for Kinds()
	Doing func(Act) // is told before each act; nil for nobody
}

func (r Runner) kinds() []Kind {
	if r.Kinds == nil {
		return Kinds()
	}
	return r.Kinds
}

// lock is the name of the lock of a run: those that do other things have another file, and run beside it.
func (r Runner) lock() string {
	if path.Base(r.File) == path.Base(File) {
		return path.Join(path.Dir(r.File), "lock")
	}
	return r.File + ".lock"
}

// Outcome is what came of one act of a run.
type Outcome struct {
	Act
	Took time.Duration `json:"took_ns"`
	Why  string        `json:"why,omitempty"` // it failed; "" when it did not
	Hint string        `json:"hint,omitempty"`
}

// Report is what a run did.
type Report struct {
	// Busy says that another run was still at work: nothing was done, which is
	// no failure, since whatever is due then is due at the next run too.
	Busy bool      `json:"busy,omitempty"`
	Done []Outcome `json:"done"`
}

// Failed counts the acts that failed.
func (r Report) Failed() (n int) {
	for _, o := range r.Done {
		if o.Why != "" {
			n++
		}
	}
	return n
}

// Run does what is due now: one act after the other, each failing alone. After each what
// came of it is written down, so that a run that is killed has told what it did.
// The error is of what kept it from doing anything, or from writing that down, and of points that could not be read.
func (r Runner) Run(ctx context.Context, p *Policy) (report Report, err error) {
	// Who can write a policy says to which host a database is sent, with our rights.
	for _, file := range []string{p.File, r.File} {
		if err := host.Guarded(path.Dir(file), host.Verbatim(path.Base(file))); err != nil {
			return report, hint.With(fmt.Errorf("run the policy %s: %w", p.File, err), "give it, and its directory, to root or to the user who runs this, for nobody else to write")
		}
	}
	unlock, err := r.Do.Lock(ctx, r.lock())
	if _, left := errors.AsType[host.LeftRunning](err); errors.Is(err, host.ErrLocked) && !left { // what is left may never end
		return Report{Busy: true}, nil
	}
	if err != nil {
		return report, err
	}
	defer unlock()
	if err := protect.TidyKept(ctx, r.Do, path.Dir(r.File)); err != nil {
		return report, err
	}
	m, err := Remember(ctx, r.Do, r.File)
	if err != nil {
		return report, err
	}
	servers, err := r.Acts.Servers(ctx)
	if err != nil {
		return report, fmt.Errorf("find the servers of this host: %w", err)
	}
	m.forget(p)
	m.Policy, m.Began = p.File, r.Now().UTC()
	if err := m.write(ctx, r.Do, r.File); err != nil {
		return report, err
	}
	var unread error // one damaged file must not keep the others from being protected; a prune looks for itself, and stops
	for _, kind := range r.kinds() {
		// What was just taken is proven, sent and counted in the same run.
		in := Seen{Now: r.Now(), Policy: p, Servers: servers, Memory: m}
		in.Points, in.Facts, unread = r.Acts.Points(ctx)
		for _, a := range Due(in, []Kind{kind}) {
			if err := ctx.Err(); err != nil {
				return report, errors.Join(err, r.end(context.WithoutCancel(ctx), m))
			}
			report.Done = append(report.Done, r.do(ctx, a, &m))
			if err := m.write(context.WithoutCancel(ctx), r.Do, r.File); err != nil {
				return report, err
			}
		}
	}
	return report, errors.Join(unread, r.end(ctx, m))
}

func (r Runner) end(ctx context.Context, m Memory) error {
	m.Ended = r.Now().UTC()
	return m.write(ctx, r.Do, r.File)
}

// do does one act. A panic is our mistake, and must not cost the other servers their points.
func (r Runner) do(ctx context.Context, a Act, m *Memory) Outcome {
	if r.Doing != nil {
		r.Doing(a)
	}
	began := r.Now()
	var err error
	var broken stack.Observation
	observe.Guard(fmt.Sprintf("%s of %s", a.Kind, a.Server), &broken, func() { err = r.Acts.Do(ctx, a) })
	if len(broken.Gaps) > 0 {
		err = hint.With(errors.New(broken.Gaps[0].Why), broken.Gaps[0].Hint)
	}
	o := Outcome{Act: a, Took: r.Now().Sub(began)}
	if err != nil {
		o.Why, o.Hint = err.Error(), hint.Of(err)
	}
	if ctx.Err() == nil || err == nil { // what was interrupted says nothing
		m.note(a, r.Now().UTC(), err)
	}
	return o
}
