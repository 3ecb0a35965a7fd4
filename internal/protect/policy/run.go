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

// Acts is what a run needs of the host.
type Acts interface {
	// Servers lists the running servers of this host that can have points.
	Servers(ctx context.Context) ([]stack.Ref, error)
	// Points lists all points of this host, and what storage says about them, by ID.
	Points(ctx context.Context) ([]protect.Point, map[string]keep.Facts, error)
	// Do does one act. A drill that does not prove its point is an error.
	Do(ctx context.Context, a Act) error
}

// Runner does what is due.
type Runner struct {
	Do    host.Doer
	Acts  Acts
	File  string // of the Memory: File, except in tests
	Now   func() time.Time
	Kinds []Kind    // kinds of acts to do, in this order; nil for Kinds()
	Doing func(Act) // is called before each act; may be nil
}

func (r Runner) kinds() []Kind {
	if r.Kinds == nil {
		return Kinds()
	}
	return r.Kinds
}

// lock is the path of the lock of a run. Runs with another file do other kinds of acts, and may run at the same time.
func (r Runner) lock() string {
	if path.Base(r.File) == path.Base(File) {
		return path.Join(path.Dir(r.File), "lock")
	}
	return r.File + ".lock"
}

// Outcome is the result of one act.
type Outcome struct {
	Act
	Took time.Duration `json:"took_ns"`
	Why  string        `json:"why,omitempty"` // it failed; "" when it did not
	Hint string        `json:"hint,omitempty"`
}

// Report is what a run did.
type Report struct {
	// Busy says that nothing was done because another run was still at work. This is
	// no failure, as whatever was due is still due at the next run.
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

// Run does what is due now, one act after the other. One that fails does not keep it from the others. The result of each is written down
// at once, so that it is known even if the run is killed. Run fails if it could do nothing, could not write results down, or could not
// read all points; that an act failed is no error but in the report.
func (r Runner) Run(ctx context.Context, p *Policy) (report Report, err error) {
	// Whoever can write a policy decides to which host a database is sent with our rights.
	for _, file := range []string{p.File, r.File} {
		if err := host.Guarded(path.Dir(file), host.Verbatim(path.Base(file))); err != nil {
			return report, hint.With(fmt.Errorf("run the policy %s: %w", p.File, err), "make it and its directory belong to root or to the user who runs this, and writable by nobody else")
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
	var unread error // is no reason to stop: one damaged file must not keep other servers from being protected. A prune checks by itself, and stops
	for _, kind := range r.kinds() {
		// Read again for each kind, so that a point taken just now is proven and sent in the same run.
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

// do does one act. A panic in it is a bug of ours, and must not cost the other servers their points.
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
	if ctx.Err() == nil || err == nil { // an act that was interrupted neither failed nor went well
		m.note(a, r.Now().UTC(), err)
	}
	return o
}
