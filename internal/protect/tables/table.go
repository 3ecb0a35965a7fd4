package tables

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/internal/stack"
)

// Bringer brings tables back.
type Bringer struct {
	Keeper   *protect.Keeper
	Copies   instance.Maker
	Executor *change.Executor
	Dir      string            // where the tables are written down that are being filled
	Doing    func(what string) // told what goes on; nil for nobody
}

// Options say which table, and how.
type Options struct {
	Table  Name
	As     string // its name in the server; "" for its own
	Memory int64  // of the copy, in bytes
	DryRun bool   // stops before anything is done to the server
}

// Plan is what will be done to the server.
type Plan struct {
	Point      protect.Point
	Server     protect.Server
	Table, As  Name
	Statements []string // in order
	Content    string   // of the table in the point
	Notes      []string // what does not come along
}

// Result is what came of it.
type Result struct {
	Change int // its number in the journal
	Took   time.Duration
}

// bringing is one table that is being brought back.
type bringing struct {
	b      Bringer
	engine Engine
	server host.Target
	target host.Target // the database of the table
	aside  Name
	how    Carried
	plan   *Plan
}

// Run brings a table back. agree is called when it is known what will be done, and before
// anything is; its error ends it.
func (b Bringer) Run(ctx context.Context, s *stack.Stack, p protect.Point, o Options, begin change.Begin, agree func(Plan) error) (plan Plan, r Result, err error) {
	unlock, err := b.Keeper.Do.Lock(ctx, path.Join(b.Dir, "lock"))
	if err != nil {
		return plan, r, host.HeldBy(err, "another Plumb is bringing a table back on this host", "wait until it has ended")
	}
	defer unlock()
	if err := protect.TidyKept(ctx, b.Keeper.Do, b.Dir); err != nil {
		return plan, r, err
	}
	began := b.Keeper.Now()
	plan = Plan{Point: p, Table: o.Table, As: o.Table}
	if o.As != "" {
		plan.As = o.Table.Called(o.As)
	}
	one := &bringing{b: b, plan: &plan, aside: o.Table.Called("plumb_" + strings.ToLower(rand.Text()))}
	r.Change, err = one.run(ctx, s, o, begin, agree)
	r.Took = b.Keeper.Now().Sub(began)
	if err != nil {
		err = fmt.Errorf("bring %s back from point %s: %w", plan.Table, p.ID, err)
	}
	return plan, r, err
}

func (t *bringing) run(ctx context.Context, s *stack.Stack, o Options, begin change.Begin, agree func(Plan) error) (number int, err error) {
	if err := t.reach(ctx, s); err != nil {
		return 0, err
	}
	if !o.DryRun { // which writes nothing to the server
		if err := t.b.sweep(ctx, t.engine, t.plan.Server, t.server); err != nil {
			return 0, fmt.Errorf("remove what an earlier run left: %w", err)
		}
	}
	h, err := t.b.Keeper.Do.Hold(ctx, t.target)
	if err != nil {
		return 0, err
	}
	defer func() { _ = h.Close() }() // one that was lost said so before
	if err := t.engine.Free(ctx, h, t.plan.Server, t.plan.As); err != nil {
		return 0, err
	}
	c, a, err := t.copy(ctx, o)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, a.Close(), c.Remove(context.WithoutCancel(ctx))) }()
	t.b.say("reading")
	if t.how, err = t.engine.Carry(ctx, t.b.Keeper.Do, a, c.Copy, Names{Of: o.Table, Aside: t.aside, As: t.plan.As}); err != nil {
		return 0, err
	}
	rows, err := a.Query(ctx, t.how.Content(o.Table))
	if err != nil {
		return 0, err
	}
	if t.plan.Content = only(rows); t.plan.Content == "" {
		return 0, errors.New("the copy does not say what is in it")
	}
	t.plan.Notes = t.how.Notes
	t.plan.Statements = t.statements()
	t.b.say("")
	if err := agree(*t.plan); err != nil || o.DryRun {
		return 0, err
	}
	return t.bring(ctx, h, begin)
}

// only gives the one cell of an answer.
func only(rows host.Rows) string {
	if len(rows.Values) != 1 {
		return ""
	}
	return host.Text(rows.Values[0], 0)
}

// reach finds the server of the point, as it is now.
func (t *bringing) reach(ctx context.Context, s *stack.Stack) error {
	k, p := t.b.Keeper, t.plan.Point
	if err := k.Here(p); err != nil {
		return err
	}
	e, err := k.EngineOf(p.Server)
	if err != nil {
		return err
	}
	var ok bool
	if t.engine, ok = e.(Engine); !ok {
		return hint.With(fmt.Errorf("single tables of %s cannot be restored", p.Server.Product), "plumb clone starts a copy of the point, beside the server")
	}
	if t.plan.Server, t.server, err = e.Describe(ctx, k.Do, s, p.Server.Ref); err != nil {
		return err
	}
	if p.Server.Identity != t.plan.Server.Identity {
		return fmt.Errorf("the server has the identity %q, but the point is of %q", t.plan.Server.Identity, p.Server.Identity)
	}
	if db := s.Find(p.Server.Ref); db != nil {
		if v, known := db.Get("is_replica"); known {
			if yes, _ := v.Bool(); yes {
				return hint.With(errors.New("it is a replica, and would differ from its source"), "restore the table on the source")
			}
		}
	}
	t.target = t.engine.Place(t.server, t.plan.Table)
	return nil
}

// copy starts a copy of the point, which goes when this ends, however that is.
func (t *bringing) copy(ctx context.Context, o Options) (c *instance.Copy, a load.Admin, err error) {
	t.b.say("cloning")
	p := t.plan.Point
	of := t.b.Copies.Ready(ctx, p)
	c, err = t.b.Copies.Make(ctx, p, instance.Options{Name: "table-" + protect.NewID(t.b.Keeper.Now()), Purpose: protect.ForDrill, Number: 1, Memory: o.Memory, Of: of})
	if err != nil {
		return nil, nil, err
	}
	t.b.say("recovering")
	if a, err = c.Start(ctx, time.Hour); err != nil {
		return nil, nil, errors.Join(err, c.Remove(context.WithoutCancel(ctx)))
	}
	return c, a, nil
}

// statements lists what will be typed to the server.
func (t *bringing) statements() (all []string) {
	all = append(append(all, t.how.Session...), t.how.Make...)
	all = append(all, t.how.Insert+" …")
	all = append(all, t.how.Finish...)
	return append(all, t.how.Put...)
}

func (b Bringer) say(what string) {
	if b.Doing != nil {
		b.Doing(what)
	}
}
