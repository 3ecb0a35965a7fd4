package clone

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	"plumb/internal/await"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/inventory"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
)

// Maker makes clones.
type Maker struct {
	Maker instance.Maker
	Dir   string            // Directory, but for tests
	Doing func(what string) // told what goes on; nil for nobody
}

// Options say what becomes of a clone.
type Options struct {
	Name    string
	Purpose protect.Purpose // ForUse, ForReplica or ForBrowse
	Port    int             // 0: on a socket only
	Memory  int64           // bytes; instance.UsualMemory when 0
	Masks   []string        // statements that run before the clone listens
	Source  *protect.Source // of a replica
	Number  int             // of the server; 0 for one made of the name
	Within  time.Duration   // for its recovery; an hour when 0
	// Stranger is for a point of another host: the copy has an account of its own, no network, and a socket that only root reaches.
	Stranger bool
}

// Purger is an engine that can take the logs of the source's past out of a copy that was
// stopped in an orderly way: they hold what a mask removed.
type Purger interface {
	Purge(ctx context.Context, d host.Streamer, c protect.Copy) error
}

// Make makes a clone of a point, and waits until it answers. With an error nothing of it
// is left.
func (m Maker) Make(ctx context.Context, p protect.Point, o Options) (Clone, error) {
	if err := p.Whole(); err != nil {
		return Clone{}, fmt.Errorf("clone point %s: %w", p.ID, err)
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return Clone{}, err
	}
	defer unlock()
	m.Maker.Keeper.Tell("remove what an earlier run left", m.sweep(ctx)) // under another name it is in nobody's way
	if _, err := m.Get(ctx, m.Maker.Keeper.Do, o.Name); !errors.Is(err, ErrNoClone) {
		return Clone{}, errors.Join(err, hint.With(fmt.Errorf("there is a clone %s already", o.Name), "give another name with --name, or plumb clone drop it"))
	}
	return m.make(ctx, p, o, Making)
}

// lock makes this process the one that makes and drops clones here. What is written of one says which statements mask it when it is
// made anew.
func (m Maker) lock(ctx context.Context) (unlock func(), err error) {
	unlock, err = m.Maker.Keeper.Do.Lock(ctx, path.Join(m.Dir, "lock"))
	if err != nil {
		return nil, host.HeldBy(err, "another Plumb is making or dropping clones on this host", "wait until it has ended")
	}
	if err = m.Maker.Keeper.Store.Guarded(m.Dir, cloneFiles); err == nil {
		err = protect.TidyKept(ctx, m.Maker.Keeper.Do, m.Dir)
	}
	if err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// make makes a clone that is written down in a state until it is made. One that was to be refreshed stays written
// down when that fails.
func (m Maker) make(ctx context.Context, p protect.Point, o Options, until State) (c Clone, err error) {
	k := m.Maker.Keeper
	if o.Within <= 0 {
		o.Within = time.Hour
	}
	if o.Number == 0 {
		o.Number = numberOf(o.Name)
	}
	o.Memory = cmp.Or(o.Memory, instance.UsualMemory)
	began := k.Now()
	c = Clone{Name: o.Name, State: until, Point: p.ID, Purpose: o.Purpose, Product: p.Server.Product, Since: began.UTC(),
		Port: o.Port, Memory: o.Memory, Number: o.Number, Masks: o.Masks}
	if err := m.put(ctx, c); err != nil {
		return Clone{}, err
	}
	life := &inventory.Life{Owner: owner(o.Name), Purpose: "clone of point " + p.ID + " of " + p.Server.Ref.String(), Since: c.Since}
	m.say("cloning")
	var of []protect.Member
	if o.Purpose == protect.ForUse { // a server that has recovered has written what its source has not
		of = m.Maker.Ready(ctx, p)
	}
	copied, err := m.Maker.Make(ctx, p, instance.Options{Name: o.Name, Purpose: o.Purpose, Port: o.Port, Number: o.Number,
		Memory: o.Memory, Source: o.Source, Life: life, Of: of, Stranger: o.Stranger})
	if err == nil {
		if c.Follows, c.Astray, err = m.run(ctx, copied, o); err == nil {
			err = m.made(ctx, &c, copied, k.Now().Sub(began))
		}
		if err != nil {
			err = errors.Join(err, copied.Remove(context.WithoutCancel(ctx)))
		}
	}
	if err != nil {
		err = fmt.Errorf("clone point %s: %w", p.ID, err)
		if until == Refreshing {
			return Clone{}, hint.With(err, "the clone is gone, and its name, port and mask are kept: plumb clone refresh it again, or drop it")
		}
		return Clone{}, errors.Join(err, k.Do.Remove(context.WithoutCancel(ctx), m.file(o.Name)))
	}
	return c, copied.Leave(ctx)
}

// made writes down what was made. Until it is, the next run takes it away.
func (m Maker) made(ctx context.Context, c *Clone, copied *instance.Copy, took time.Duration) error {
	c.State, c.Dir, c.Ready, c.Limits = Made, copied.Dir, took, copied.Limits()
	if c.Purpose != protect.ForBrowse {
		c.Run = copied.Run
	}
	c.PID, c.Process = copied.Process()
	return m.put(ctx, *c)
}

// run prepares the server of a clone behind closed doors, where that is asked, and
// starts it for good. Of a replica it tells how it follows its source.
func (m Maker) run(ctx context.Context, c *instance.Copy, o Options) (follows string, astray bool, err error) {
	if o.Purpose == protect.ForBrowse {
		return "", false, nil
	}
	if len(o.Masks) > 0 || o.Purpose == protect.ForReplica {
		if err := m.prepare(ctx, c, o); err != nil {
			return "", false, err
		}
	}
	m.say("starting")
	a, err := c.StartOpen(ctx, o.Within)
	if err != nil {
		return "", false, err
	}
	if o.Purpose == protect.ForReplica {
		m.say("following")
		follows, astray = m.follows(ctx, c, a)
	}
	return follows, astray, a.Close()
}

// followTime is how long a new replica has to reach its source.
const followTime = 10 * time.Second

// follows tells whether a replica has reached its source, and how far it is behind then. One that has not is there all the same: the
// source may be back later.
func (m Maker) follows(ctx context.Context, c *instance.Copy, a load.Admin) (text string, astray bool) {
	e, err := m.Maker.Keeper.EngineOf(c.Server)
	behind := ""
	if err == nil {
		err = await.Until(ctx, followTime, func() (bool, error) {
			behind, err = e.Caught(ctx, a, c.Copy)
			return !errors.Is(err, protect.ErrUnconnected), err
		})
	}
	switch {
	case err != nil:
		return "it does not follow its source: " + err.Error(), true
	case behind != "":
		return "it follows its source: " + behind, false
	}
	return "it had caught up with its source", false
}

// prepare starts the server closed, masks what is to be masked, tells it whom to follow,
// and stops it.
func (m Maker) prepare(ctx context.Context, c *instance.Copy, o Options) error {
	m.say("preparing")
	a, err := c.Start(ctx, o.Within)
	if err != nil {
		return err
	}
	err = errors.Join(m.behindDoors(ctx, c, a, o), a.Close())
	if err = errors.Join(err, c.Stop(ctx)); err != nil {
		return err
	}
	if len(o.Masks) == 0 {
		return nil
	}
	e, err := m.Maker.Keeper.EngineOf(c.Server)
	if err != nil {
		return err
	}
	if purger, ok := e.(Purger); ok {
		return purger.Purge(ctx, m.Maker.Keeper.Do, c.Copy)
	}
	return nil
}

func (m Maker) behindDoors(ctx context.Context, c *instance.Copy, a load.Admin, o Options) error {
	e, err := m.Maker.Keeper.EngineOf(c.Server)
	if err != nil {
		return err
	}
	if masker, ok := e.(Masker); ok && len(o.Masks) > 0 {
		if err := masker.ForMasks(ctx, a); err != nil {
			return fmt.Errorf("prepare for the mask: %w", err)
		}
	}
	for i, mask := range o.Masks {
		if err := a.Exec(ctx, mask); err != nil {
			return fmt.Errorf("run statement %d of the mask: %w", i+1, err)
		}
	}
	if len(o.Masks) > 0 { // what it leaves open would be taken back with the end of the session
		if err := a.Exec(ctx, "COMMIT"); err != nil {
			return fmt.Errorf("commit the mask: %w", err)
		}
	}
	if o.Purpose != protect.ForReplica {
		return nil
	}
	return e.Follow(ctx, m.Maker.Keeper.Do, a, c.Copy)
}

// Drop takes a clone away, with all that was written to it.
func (m Maker) Drop(ctx context.Context, name string) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	c, err := m.Get(ctx, m.Maker.Keeper.Do, name)
	if err != nil {
		return err
	}
	return m.drop(ctx, c)
}

func (m Maker) drop(ctx context.Context, c Clone) error {
	c.State = Dropping
	if err := m.put(ctx, c); err != nil {
		return err
	}
	if err := m.Maker.Keeper.Drop(ctx, owner(c.Name), nil); err != nil {
		return hint.With(fmt.Errorf("drop clone %s: %w", c.Name, err),
			cmp.Or(hint.Of(err), "if its storage is gone for good, plumb inventory forget KIND NAME removes it from the list"))
	}
	return m.Maker.Keeper.Do.Remove(ctx, m.file(c.Name))
}

// Sweep takes away what killed runs left of clones and other copies. While another Plumb makes or drops clones, theirs
// are left alone.
func (m Maker) Sweep(ctx context.Context) error {
	unlock, err := m.lock(ctx)
	if err == nil {
		err = m.sweep(ctx)
		unlock()
	} else if errors.Is(err, host.ErrLocked) {
		err = nil
	}
	return errors.Join(err, m.Maker.Sweep(ctx))
}

// sweep takes away clones whose making or dropping was killed. Of one that was to be refreshed it stays written down
// how it is made.
func (m Maker) sweep(ctx context.Context) error {
	all, err := m.List(ctx, m.Maker.Keeper.Do)
	for _, c := range all {
		switch c.State {
		case Made:
		case Refreshing:
			err = errors.Join(err, m.Maker.Keeper.Drop(ctx, owner(c.Name), nil))
		default:
			err = errors.Join(err, m.drop(ctx, c))
		}
	}
	return err
}

// Refresh drops a clone and makes it again of another point. Until that is done it stays written down how it is made.
func (m Maker) Refresh(ctx context.Context, name string, p protect.Point, source *protect.Source) (Clone, error) {
	if err := p.Whole(); err != nil {
		return Clone{}, fmt.Errorf("clone point %s: %w", p.ID, err)
	}
	unlock, err := m.lock(ctx)
	if err != nil {
		return Clone{}, err
	}
	defer unlock()
	was, err := m.Get(ctx, m.Maker.Keeper.Do, name)
	if err != nil {
		return Clone{}, err
	}
	if err := m.refreshable(ctx, was, p, source); err != nil {
		return Clone{}, err
	}
	was.State = Refreshing
	if err := m.put(ctx, was); err != nil {
		return Clone{}, err
	}
	if err := m.Maker.Keeper.Drop(ctx, owner(name), nil); err != nil {
		return Clone{}, fmt.Errorf("drop clone %s: %w", name, err)
	}
	return m.make(ctx, p, Options{Name: name, Purpose: was.Purpose, Port: was.Port, Memory: was.Memory, Masks: was.Masks, Source: source, Number: was.Number}, Refreshing)
}

// refreshable refuses what could not be made, before the clone that there is goes for it.
func (m Maker) refreshable(ctx context.Context, was Clone, p protect.Point, source *protect.Source) error {
	replica := was.Purpose == protect.ForReplica
	switch {
	case was.State != Made && was.State != Refreshing:
		return hint.With(fmt.Errorf("the clone %s is incomplete: a run that was %s it was killed", was.Name, was.State), "plumb clone drop removes it")
	case replica && source == nil:
		return hint.Usage(fmt.Sprintf("the clone %s is a replica, and its source was not recorded", was.Name), "--source URL names it")
	case replica && p.ByOthers():
		return hint.Usage(fmt.Sprintf("the clone %s is a replica, but no position is known for a snapshot that others took, so it could not continue", was.Name), "plumb snapshot takes a point that has one")
	case !replica && source != nil:
		return hint.Usage(fmt.Sprintf("the clone %s is not a replica, so --source and --slot have no effect", was.Name), "leave them out")
	}
	return m.Maker.There(ctx, p.Members)
}

func (m Maker) say(what string) {
	if m.Doing != nil {
		m.Doing(what)
	}
}

// numberOf makes a server's number of a name: the same each time, and hardly that of
// another server, which are small.
func numberOf(name string) int {
	sum := uint32(2166136261) // FNV-1a
	for _, b := range []byte(name) {
		sum = (sum ^ uint32(b)) * 16777619
	}
	return int(1<<30 + sum>>3)
}
