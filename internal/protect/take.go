package protect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/units"
)

// TakeOptions say how a point is taken.
type TakeOptions struct {
	Mode string        // "" for the cheapest that is possible
	Wait time.Duration // how long to wait for a lock; others wait behind us meanwhile. 0 for the default
	Hold time.Duration // how long to hold the lock; when it is exceeded no point is taken. 0 for the default

	lent *loan // for a point that lasts no longer than this process
}

const (
	waitTime   = 5 * time.Second  // default of TakeOptions.Wait: short, as whoever waits for a global lock holds up writers already
	holdTime   = 10 * time.Second // default of TakeOptions.Hold: short for the same reason
	settleTime = time.Minute
	letGoTime  = 10 * time.Second // to release what is held, after everything else has failed or was cancelled
)

// Take takes a point.
func (k *Keeper) Take(ctx context.Context, plan Plan, o TakeOptions) (Point, error) {
	if err := plan.Possible(); err != nil {
		return Point{}, err
	}
	mode, err := plan.Choose(o.Mode)
	if err != nil {
		return Point{}, err
	}
	unlock, err := k.Store.Lock(ctx, k.Do)
	if err != nil {
		return Point{}, err
	}
	defer unlock()
	// If something cannot be finished now, because its disk is gone or its file is damaged, it waits for the next run. What is to be
	// destroyed waits for the next prune. Neither is a reason not to take a point.
	k.Tell("finish what an earlier run left", errors.Join(k.sweepLent(ctx), k.sweep(ctx, Taking, k.finish)))
	t, err := k.begin(ctx, plan, mode, o)
	if err != nil {
		return Point{}, err
	}
	if err := t.take(ctx); err != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
		defer cancel()
		err = fmt.Errorf("take a point of %s: %w", plan.Server.Ref, err)
		if errors.Is(err, context.DeadlineExceeded) { // a command we stopped waiting for can still make its snapshots: the next run looks for them
			return Point{}, err
		}
		return Point{}, errors.Join(err, k.takeBack(ctx, t.point, t.made...))
	}
	return t.point, nil
}

// taking is a point that is being taken.
type taking struct {
	k     *Keeper
	e     Engine
	plan  Plan
	mode  Mode
	o     TakeOptions
	point Point
	made  []Member // every snapshot that was made, whole or not
}

// begin writes the point down before anything is made.
func (k *Keeper) begin(ctx context.Context, plan Plan, mode Mode, o TakeOptions) (*taking, error) {
	e, err := k.EngineOf(plan.Server)
	if err != nil {
		return nil, err
	}
	if _, err := k.StorageOf(plan.Set.Volumes[0]); err != nil {
		return nil, err
	}
	if o.Wait <= 0 {
		o.Wait = waitTime
	}
	if o.Hold <= 0 {
		o.Hold = holdTime
	}
	now := k.Now().UTC()
	t := &taking{k: k, e: e, plan: plan, mode: mode, o: o}
	t.point = Point{ID: NewID(now), State: Taking, Host: k.Host, Plumb: k.Plumb, Server: plan.Server, Mode: mode.Name,
		Label: Crash, Doubts: mode.Doubts, Times: Times{Began: now}}
	for _, v := range plan.Set.Volumes {
		t.point.Members = append(t.point.Members, Member{Volume: v})
	}
	if o.lent != nil {
		if err := o.lent.begin(ctx, k, t.point.ID); err != nil {
			return nil, err
		}
	}
	return t, k.Store.Put(ctx, k.Do, t.point)
}

// take makes the snapshots in the way of the mode, and records what was proven of them.
func (t *taking) take(ctx context.Context) error {
	settle, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	if err := t.each(func(s Storage, vols []Volume) error { return s.Settle(settle, t.k.Do, vols) }); err != nil {
		return fmt.Errorf("write dirty data to disk: %w", err)
	}
	started, err := t.started(ctx)
	if err != nil {
		return err
	}
	if err := t.held(ctx); err != nil {
		return err
	}
	if err := t.tidy(ctx); err != nil {
		return err
	}
	if now, err := t.started(ctx); err != nil || now != started {
		t.doubt("the server was restarted meanwhile")
	}
	if t.point.Label, err = t.label(); err != nil {
		return err
	}
	t.point.State, t.point.Times.Ended = Taken, t.k.Now().UTC()
	if err := t.k.Store.Put(ctx, t.k.Do, t.point); err != nil {
		return err
	}
	return t.markAll(ctx)
}

// tidy destroys the snapshots that a storage took of more than was asked for.
func (t *taking) tidy(ctx context.Context) error {
	for _, s := range t.k.Storages {
		tidier, ok := s.(Tidier)
		own := slices.DeleteFunc(slices.Clone(t.point.Members), func(m Member) bool { return m.Storage != s.Name() })
		if !ok || len(own) == 0 {
			continue
		}
		if err := tidier.Tidy(ctx, t.k.Do, own, SnapshotName(t.point.ID)); err != nil {
			return fmt.Errorf("destroy the other snapshots: %w", err)
		}
	}
	return nil
}

// started identifies the running process of the server: it changes when the server is restarted.
func (t *taking) started(ctx context.Context) (string, error) {
	thing := inventory.Thing{Kind: inventory.Process}
	err := kinds.Proven(ctx, t.k.Do, &thing, t.plan.Server.PID)
	if err == nil && thing.Proof["start"] == "ended" {
		err = errors.New("its process has ended")
	}
	if err != nil {
		return "", hint.With(fmt.Errorf("look at %s: %w", t.plan.Server.Ref, err), "look at its log")
	}
	return thing.Proof["start"], nil
}

// held takes the snapshots while it holds what the mode demands.
func (t *taking) held(ctx context.Context) error {
	switch t.mode.Name {
	case ModeCrash:
		return t.bare(ctx)
	case ModeFreeze:
		return t.frozen(ctx)
	}
	return t.quiet(ctx)
}

// bare takes the snapshots without holding anything. The position is read just before, so that a copy has at least what was
// committed by then.
func (t *taking) bare(ctx context.Context) (err error) {
	if t.point.Position, err = t.e.Position(ctx, t.k.Do, t.plan.Target); err != nil {
		t.doubt("the server's position is not known: " + err.Error())
	}
	return t.snapshot(ctx, nil)
}

// frozen takes the snapshots while the server's processes stand still.
func (t *taking) frozen(ctx context.Context) error {
	if t.k.Freezer == nil {
		return errors.New("nothing here can freeze a server")
	}
	var err error
	if t.point.Position, err = t.e.Position(ctx, t.k.Do, t.plan.Target); err != nil {
		t.doubt("the server's position is not known: " + err.Error())
	}
	began := t.k.Now()
	f, err := t.k.Freezer.Freeze(ctx, t.k.Do, t.plan.Server, t.o.Hold)
	if err != nil {
		return err
	}
	err = t.snapshot(ctx, nil)
	whole := f.Whole(ctx)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoTime)
	defer cancel()
	thawed := f.Thaw(late)
	t.point.Times.Held = t.k.Now().Sub(began)
	if whole != nil {
		t.doubt("it is not proven that the server stood still: " + whole.Error())
	}
	return errors.Join(err, thawed)
}

// quiet takes the snapshots under the engine's lock, which one connection holds.
func (t *taking) quiet(ctx context.Context) error {
	heir, err := t.arm(ctx)
	if err != nil {
		return err
	}
	held, err := t.k.Do.Hold(ctx, t.plan.Target)
	if err != nil {
		return abandon(ctx, heir, err)
	}
	defer held.Close() // which also releases what is still locked
	began := t.k.Now()
	q, err := t.e.Quiesce(ctx, held, t.mode, t.o.Wait)
	if err != nil {
		return abandon(ctx, heir, err)
	}
	if b, ok := q.(Blocking); ok {
		began = b.Since()
		if f := b.Failed(); f.Tries > 0 {
			t.point.Times.Failed = &f
		}
	}
	before, beforeErr := q.Position(ctx)
	err = t.snapshot(ctx, q)
	after, afterErr := q.Position(ctx)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), letGoTime)
	defer cancel()
	files, released := q.Release(late)
	t.point.Times.Held = t.k.Now().Sub(began)
	t.point.Position, t.point.Files = before, files
	t.prove(ctx, held, before, after, errors.Join(beforeErr, afterErr)) // after the release: a session that was lost under the lock still shows that, and nobody waits for us to look
	if err := heir.End(late, released == nil); err != nil {
		t.doubt(err.Error())
	}
	if released != nil {
		t.doubt("the lock could not be released properly: " + released.Error())
		if t.mode.Name == ModeBackupAPI { // its files come with the release
			err = errors.Join(err, released)
		}
	}
	return err
}

// prove adds a doubt for each sign that the lock did not last.
func (t *taking) prove(ctx context.Context, held host.Held, before, after Position, err error) {
	switch {
	case err != nil:
		t.doubt("the server's position could not be read under the lock: " + err.Error())
	case t.mode.Name == ModeLocked && before != after:
		t.doubt("the server's position moved under the lock")
	}
	if err := held.Whole(ctx); err != nil {
		t.doubt("the lock was lost: " + err.Error())
	}
}

func (t *taking) doubt(why string) { t.point.Doubts = append(t.point.Doubts, why) }

// snapshot takes the snapshots on all storages. It gives up after TakeOptions.Hold, as the server waits meanwhile.
func (t *taking) snapshot(ctx context.Context, q Quiet) error {
	ctx, cancel := context.WithTimeout(ctx, t.o.Hold)
	defer cancel()
	name, facts := SnapshotName(t.point.ID), t.facts()
	t.point.Times.Snapshot = t.k.Now().UTC()
	began := t.k.Now()
	var all []Member
	err := t.inOrder(ctx, q, func(s Storage, vols []Volume) error {
		members, err := s.Snapshot(ctx, t.k.Do, vols, name, facts)
		all = append(all, t.plan.Set.seen(s, members)...)
		return err
	})
	t.point.Times.Storage = t.k.Now().Sub(began)
	t.made = all
	if err == nil {
		err = complete(t.plan.Set.Volumes, all)
	}
	if err != nil {
		return fmt.Errorf("snapshot: %w", err)
	}
	slices.SortStableFunc(all, func(a, b Member) int { return strings.Compare(a.Mountpoint, b.Mountpoint) }) // the order in which they were taken varies
	t.point.Members = all
	return nil
}

// complete is an error unless every volume has a whole snapshot.
func complete(vols []Volume, all []Member) error {
	for _, v := range vols {
		i := slices.IndexFunc(all, func(m Member) bool { return m.Volume == v })
		switch {
		case i < 0:
			return fmt.Errorf("no snapshot of %s was made", v.Name)
		case all[i].Part:
			return fmt.Errorf("only a part of the snapshot of %s was made: %s", v.Name, all[i].Snapshot)
		}
	}
	if len(all) != len(vols) {
		return fmt.Errorf("snapshots of %s were requested, but the number made is %d", units.Count(len(vols), "volume"), len(all))
	}
	return nil
}

// inOrder calls f with the volumes of each storage together, or with one volume at a time where the mode has an order.
func (t *taking) inOrder(ctx context.Context, q Quiet, f func(Storage, []Volume) error) error {
	if len(t.mode.Order) == 0 {
		return t.each(f)
	}
	for i, point := range t.mode.Order {
		if s, ok := q.(Staged); ok && i == len(t.mode.Order)-1 {
			if err := s.Between(ctx); err != nil {
				return err
			}
		}
		at := slices.IndexFunc(t.plan.Set.Volumes, func(v Volume) bool { return v.Mountpoint == point })
		if at < 0 {
			return fmt.Errorf("no volume is mounted at %s any longer", point)
		}
		v := t.plan.Set.Volumes[at]
		s, err := t.k.StorageOf(v)
		if err != nil {
			return err
		}
		later := slices.ContainsFunc(t.plan.Set.Volumes, func(w Volume) bool { return oneSnapshot(s, v, w) && slices.Contains(t.mode.Order[i+1:], w.Mountpoint) })
		if later { // one snapshot covers several mountpoints: take it when the last of them comes
			continue
		}
		if err := f(s, []Volume{v}); err != nil {
			return err
		}
	}
	return nil
}

// each calls f once for each storage, with its volumes.
func (t *taking) each(f func(Storage, []Volume) error) error {
	for _, s := range t.k.Storages {
		if vols := once(s, of(s, t.plan.Set.Volumes)); len(vols) > 0 {
			if err := f(s, vols); err != nil {
				return err
			}
		}
	}
	return nil
}

// label says what was proven of the point. It is an error if the snapshots are of several moments and the mode does not allow for
// that: such a point is of no use.
func (t *taking) label() (Label, error) {
	whole := t.plan.Set.Apart == "" && sameBirth(t.point.Members)
	switch {
	case t.mode.Name == ModeCrash && !whole:
		return "", errors.New("the snapshots are not of one moment")
	case t.mode.Name == ModeCrash, len(t.point.Doubts) > len(t.mode.Doubts):
		return Crash, nil
	}
	return Locked, nil
}

func sameBirth(all []Member) bool {
	return !slices.ContainsFunc(all, func(m Member) bool {
		return m.Birth != all[0].Birth || m.Storage != all[0].Storage || m.Pool != all[0].Pool
	})
}

// OneMoment tells whether all snapshots of a point are of one moment: they were made as one, or its server stood still meanwhile.
func (p Point) OneMoment() bool {
	return sameBirth(p.Members) || p.Mode == ModeFreeze && p.Label == Locked
}

// Fell says why a point is labelled with less than its mode promises; "" when it is not.
func (p Point) Fell() string {
	if p.Mode == ModeCrash || p.Label != Crash || len(p.Doubts) == 0 {
		return ""
	}
	return p.Doubts[len(p.Doubts)-1]
}
