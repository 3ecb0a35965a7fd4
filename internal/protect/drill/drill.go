// Package drill starts a copy of a point, looks at it, and throws it away: only that
// proves that the point is good for anything.
package drill

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"plumb/internal/hint"
	"plumb/internal/inventory"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/units"
)

// Drill says how points are drilled.
type Drill struct {
	Maker instance.Maker
	Full  bool          // all data is read
	Ready bool          // snapshots of the recovered copy are kept: clones of the point start without redo
	Limit time.Duration // for all of it; an hour when 0
	// Memory of the copy's server in bytes.
	Memory int64
	// Replica is for a point that is a replica of another: nothing is written of it. With Stranger it came
	// from another host.
	Replica, Stranger bool
	Doing             func(what string) // told what goes on; nil for nobody
}

// limit is the time that a drill has.
func (d Drill) limit() time.Duration {
	if d.Limit <= 0 {
		return time.Hour
	}
	return d.Limit
}

// Run drills a point, and notes what came of it in the point's file and on its snapshots.
// The error says why there is no result; that the point failed is no error.
func (d Drill) Run(ctx context.Context, p protect.Point) (protect.Drill, error) {
	if err := p.Whole(); err != nil {
		return protect.Drill{}, fmt.Errorf("drill point %s: %w", p.ID, err)
	}
	k := d.Maker.Keeper
	within, cancel := context.WithTimeoutCause(ctx, d.limit(), d.late())
	defer cancel()
	began := k.Now()
	r := protect.Drill{At: began.UTC(), Plumb: k.Plumb}
	err := d.look(within, p, &r)
	r.Took = k.Now().Sub(began)
	switch {
	case errors.Is(err, errUnjudged):
		return r, fmt.Errorf("drill point %s: %w", p.ID, err)
	case err != nil && !errors.Is(err, errKeep) && !errors.Is(err, errLeft):
		r.Why, err = err.Error(), nil
	default:
		r.OK = true
	}
	after := context.WithoutCancel(ctx)
	if p.ByOthers() || d.Replica { // nothing is written of it
		return r, err
	}
	return r, errors.Join(err, k.Drilled(after, p.ID, r))
}

// errKeep says that the point is good, and that its recovered copy could not be kept.
var errKeep = errors.New("the recovered copy could not be kept")

// errLeft says that the point is good, and that something of its copy is left.
var errLeft = errors.New("the copy could not be taken away")

// errUnjudged says that the drill told nothing of the point, which stays what it was.
var errUnjudged = errors.New("it was not judged")

// errSetup says that no copy could be made.
var errSetup = errors.New("no copy of it could be made")

// late is the error of a drill whose time ran out.
func (d Drill) late() error {
	err := fmt.Errorf("the time limit of %s ran out", units.Short(d.limit()))
	if d.Replica { // nobody can give it more
		return err
	}
	return hint.With(err, "give it more with --limit, or in a policy with the limit of the drill")
}

// unjudged marks the error of a look at a copy that says nothing of its point: the look was broken off, or the fault is
// this machine's. It is asked as soon as there is the error, since what comes later can be broken off too.
func unjudged(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil:
		return nil
	case cause != nil:
		return fmt.Errorf("%w: %w: %w", errUnjudged, cause, err)
	case errors.Is(err, errSetup) || instance.Blameless(err):
		return fmt.Errorf("%w: %w", errUnjudged, err)
	}
	return err
}

// look makes a copy, starts it, and reads it.
func (d Drill) look(ctx context.Context, p protect.Point, r *protect.Drill) (err error) {
	d.say("cloning")
	c, err := d.copyOf(ctx, p)
	if err != nil {
		return unjudged(ctx, fmt.Errorf("%w: %w", errSetup, err))
	}
	kept := false
	defer func() {
		if kept {
			return
		}
		switch gone := c.Remove(context.WithoutCancel(ctx)); {
		case gone != nil && err == nil: // which says nothing of the point
			err = hint.With(fmt.Errorf("%w: %w", errLeft, gone), "the next drill, clone or prune tries it again")
		case gone != nil:
			err = errors.Join(err, fmt.Errorf("take the copy away: %w", gone))
		}
	}()
	if err := unjudged(ctx, d.try(ctx, c, p, r)); err != nil || !d.Ready {
		return err
	}
	d.say("keeping the recovered copy")
	if err = c.Stop(ctx); err == nil {
		_, err = c.Keep(ctx, p.ID, func(ready []protect.Member) error {
			err := d.Maker.Keeper.Readied(context.WithoutCancel(ctx), p.ID, ready)
			kept = err == nil
			return err
		})
	}
	if err != nil {
		return errors.Join(errKeep, err)
	}
	return nil
}

// copyOf makes the copy that is looked at.
func (d Drill) copyOf(ctx context.Context, p protect.Point) (*instance.Copy, error) {
	o := instance.Options{Name: "drill-" + p.Tag(), Purpose: protect.ForDrill, Number: 1, Memory: d.Memory, Gentle: true, Stranger: d.Stranger}
	if d.Ready {
		if d.Maker.Ready(ctx, p) != nil {
			return nil, errors.New("it has a recovered copy already")
		}
		if err := d.Maker.Keeper.Forgo(ctx, p.ReadyOwner(), p.Ready); err != nil { // what is left of one that somebody destroyed
			return nil, err
		}
		o.Name = "ready-" + p.Tag() // its book stays, and must not be in the way of the next drill
		o.Life = &inventory.Life{Owner: p.ReadyOwner(), Purpose: "recovered copy of point " + p.ID, Since: d.Maker.Keeper.Now().UTC()}
	}
	return d.Maker.Make(ctx, p, o)
}

// try starts the server of a copy, and reads it.
func (d Drill) try(ctx context.Context, c *instance.Copy, p protect.Point, r *protect.Drill) error {
	d.say("recovering")
	began := d.Maker.Keeper.Now()
	a, err := c.Start(ctx, true, d.limit())
	r.Recovery = d.Maker.Keeper.Now().Sub(began)
	if err != nil {
		return err
	}
	defer func() { _ = a.Close() }() // how the session ends says nothing of the data
	return c.Starved(ctx, d.read(ctx, c, a, p, r))
}

// read reads where the copy stands, and checks its data.
func (d Drill) read(ctx context.Context, c *instance.Copy, a load.Admin, p protect.Point, r *protect.Drill) (err error) {
	e, err := d.Maker.Keeper.EngineOf(p.Server)
	if err != nil {
		return err
	}
	if r.Position, err = e.Recovered(ctx, a, c.Copy); err != nil {
		return fmt.Errorf("read where the copy stands: %w", err)
	}
	if p.Mode == protect.ModeLocked && p.Position.Known() {
		why := e.Same(p.Position, r.Position)
		exact := why == ""
		r.Exact = &exact
		if !exact {
			r.Checks = append(r.Checks, protect.Check{What: "the recovered position is the point's", Wrong: why})
		}
	}
	d.say("checking")
	checks, err := e.Check(ctx, a, c.Copy, d.Full)
	r.Checks = append(r.Checks, checks...)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(checks, func(c protect.Check) bool { return c.Wrong != "" }); i >= 0 {
		return fmt.Errorf("%s: %s", checks[i].What, checks[i].Wrong)
	}
	return nil
}

func (d Drill) say(what string) {
	if d.Doing != nil {
		d.Doing(what)
	}
}
