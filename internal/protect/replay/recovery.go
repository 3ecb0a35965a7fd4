package replay

import (
	"context"
	"errors"
	"time"

	"plumb/internal/inventory"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/units"
)

// Recovery makes a copy of a point, and replays the server's log into it.
type Recovery struct {
	Copies instance.Maker
	Point  protect.Point
	Now    protect.Server // whose log it is, as it runs
	To     Target
	Memory int64 // of the copy's server, in bytes
	Doing  func(step string)
}

// Recovered is a copy that was brought to a moment, and stopped.
type Recovered struct {
	ID      string           // of the copies' snapshots
	Members []protect.Member // snapshots of it, in the order of the point's
	Way     Way
	Drop    func(context.Context) error // takes all of it away
}

// Owner is the beginning of whom the inventory names for what a replay made; its ID follows.
const Owner = "replay "

// number is that of the copy's server: hardly that of another, which are small.
const number = 1<<31 - 19

// Run replays up to the target, stops the copy, and keeps snapshots of it. With an error nothing of it is left.
func (r Recovery) Run(ctx context.Context) (got Recovered, err error) {
	k := r.Copies.Keeper
	replayer, err := EngineOf(k, r.Point.Server)
	if err != nil {
		return got, err
	}
	got.ID = protect.NewID(k.Now())
	owner := Owner + got.ID
	life := &inventory.Life{Owner: owner, Purpose: "point " + r.Point.ID + " brought forward to " + r.To.Text, Since: k.Now().UTC()}
	r.Doing("cloning")
	c, err := r.Copies.Make(ctx, r.Point, instance.Options{Name: "replay-" + got.ID, Purpose: protect.ForReplay, Number: number, Memory: r.Memory, Life: life})
	if err != nil {
		return got, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
		}
	}()
	if got.Way, err = r.replay(ctx, replayer, c); err != nil {
		return got, err
	}
	if err = c.Stop(ctx); err != nil {
		return got, err
	}
	if err = replayer.Settle(ctx, k.Do, c.Copy); err != nil {
		return got, err
	}
	got.Members, err = c.Keep(ctx, got.ID, func([]protect.Member) error { return nil })
	got.Drop = func(ctx context.Context) error { return k.Forgo(ctx, owner, got.Members) }
	return got, err
}

// replay starts the copy, and leaves it running at the end of the way.
func (r Recovery) replay(ctx context.Context, replayer Engine, c *instance.Copy) (w Way, err error) {
	do := r.Copies.Keeper.Do
	recovers, ahead := replayer.(Recoverer)
	if ahead {
		if w, err = r.prepare(ctx, recovers, c); err != nil {
			return w, err
		}
	}
	r.Doing("recovering")
	a, err := c.Start(ctx, time.Hour)
	if err != nil {
		return w, err
	}
	from, err := replayer.Stands(ctx, do, a, c.Copy)
	if err == nil && !ahead {
		r.Doing("reading the log")
		w, err = replayer.Way(ctx, do, r.Now, Start{Position: from, Apart: true, Until: r.Point.Times.Until()}, r.To) // Replay compares the logs themselves
	}
	if err == nil {
		r.Doing("replaying " + units.Count(w.Count, "transaction"))
		err = replayer.Replay(ctx, do, a, c.Copy, w)
	}
	return w, errors.Join(err, a.Close())
}

// prepare gives the copy, before its first start, the way that it replays: none where it goes back to the point itself.
func (r Recovery) prepare(ctx context.Context, e Recoverer, c *instance.Copy) (Way, error) {
	do, w := r.Copies.Keeper.Do, Way{From: r.Point.Position}
	if !r.To.Point() {
		var err error
		if w, err = e.Way(ctx, do, r.Now, StartOf(r.Point), r.To); err != nil {
			return w, err
		}
	}
	return w, e.Prepare(ctx, do, &c.Copy, w, r.To)
}
