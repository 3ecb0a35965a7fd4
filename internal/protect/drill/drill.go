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
	case unjudged(err):
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

// late says that its time is over. That of a copy of a replica is nobody's to set.
func (d Drill) late() error {
	err := fmt.Errorf("its limit of %s is over", units.Span(d.limit()))
	if d.Replica {
		return err
	}
	return hint.With(err, "give it more time with --max-time, or with max_time of the drill in a policy")
}

// errKeep says that the point is good, and that its recovered copy could not be kept.
var errKeep = errors.New("the recovered copy could not be kept")

// errLeft says that the point is good, and that something of its copy is left.
var errLeft = errors.New("the copy could not be removed")

// errSetup says that no copy could be made: nothing is known of the point then.
var errSetup = errors.New("no copy of it could be made")

// errOver says that the drill ended before it knew: its time was over, or nobody waited any more.
var errOver = errors.New("the drill shows nothing about the point")

// over makes of an error of a drill that has ended early one that says so.
func over(ctx context.Context, err error) error {
	if why := context.Cause(ctx); err != nil && why != nil && !errors.Is(err, errKeep) {
		return fmt.Errorf("%w: %w: %w", errOver, why, err)
	}
	return err
}

// unjudged tells whether an error says nothing of the point.
func unjudged(err error) bool {
	return errors.Is(err, errSetup) || errors.Is(err, errOver) || instance.Blameless(err)
}

// look makes a copy, has a look at it, and takes it away.
func (d Drill) look(ctx context.Context, p protect.Point, r *protect.Drill) error {
	d.say("cloning")
	o := instance.Options{Name: "drill-" + p.Tag(), Purpose: protect.ForDrill, Number: 1, Memory: d.Memory, Gentle: true, Stranger: d.Stranger}
	if d.Ready {
		if d.Maker.Ready(ctx, p) != nil {
			return errors.Join(errSetup, errors.New("it has a recovered copy already"))
		}
		if err := d.Maker.Keeper.Forgo(ctx, p.ReadyOwner(), p.Ready); err != nil { // what is left of one that somebody destroyed
			return errors.Join(errSetup, err)
		}
		o.Name = "ready-" + p.Tag() // its book stays, and must not be in the way of the next drill
		o.Life = &inventory.Life{Owner: p.ReadyOwner(), Purpose: "recovered copy of point " + p.ID, Since: d.Maker.Keeper.Now().UTC()}
	}
	c, err := d.Maker.Make(ctx, p, o)
	if err != nil {
		return over(ctx, errors.Join(errSetup, err))
	}
	kept, err := d.try(ctx, c, p, r)
	r.Limits = c.Limits()
	if err = over(ctx, err); kept { // asked before it is taken away, which may last
		return err
	}
	switch gone := c.Remove(context.WithoutCancel(ctx)); {
	case gone != nil && err == nil: // which says nothing of the point
		return hint.With(fmt.Errorf("%w: %w", errLeft, gone), "the next drill, clone or prune tries it again")
	case gone != nil:
		return errors.Join(err, fmt.Errorf("remove the copy: %w", gone))
	}
	return err
}

// try starts a copy, and reads it. It can be kept then.
func (d Drill) try(ctx context.Context, c *instance.Copy, p protect.Point, r *protect.Drill) (kept bool, err error) {
	d.say("recovering")
	began := d.Maker.Keeper.Now()
	a, err := c.Start(ctx, d.limit())
	r.Recovery = d.Maker.Keeper.Now().Sub(began)
	if err != nil {
		return false, err
	}
	err = d.read(ctx, c, a, p, r)
	_ = a.Close() // how the session ends says nothing of the data
	if err != nil || !d.Ready {
		return false, c.Starved(ctx, err)
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
		err = errors.Join(errKeep, err)
	}
	return kept, err
}

// read reads where the copy stands, and checks its data.
func (d Drill) read(ctx context.Context, c *instance.Copy, a load.Admin, p protect.Point, r *protect.Drill) (err error) {
	e, err := d.Maker.Keeper.EngineOf(p.Server)
	if err != nil {
		return err
	}
	if r.Position, err = e.Recovered(ctx, a, c.Copy); err != nil {
		return fmt.Errorf("read the position of the copy: %w", err)
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
	var checks []protect.Check
	if c.Position.Known() {
		at, err := e.Reached(ctx, a, c.Copy, r.Position)
		if err != nil {
			return err
		}
		checks = append(checks, at)
	}
	found, err := e.Check(ctx, a, c.Copy, d.Full)
	checks = append(checks, found...)
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
