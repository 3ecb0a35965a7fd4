package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// UndoOptions say how changes are taken back.
type UndoOptions struct {
	Force bool // also what somebody changed since
	Keep  bool // leave what somebody changed since, and undo the rest
	// Discard does not copy back what a moved server has written since, so that it is lost. Refused once a part of
	// it has been copied back.
	Discard bool
	// Unconfirmed refuses a change that somebody has confirmed. An undo whose time has come needs that: it may have
	// read the journal just before the change was confirmed.
	Unconfirmed bool
	Each        func(c *Change, p Recorded, e error) // called after each act
}

// Drift is a place that is not as Plumb left it.
type Drift struct {
	Change int
	Place  string
	Want   string // as Plumb left it
	Found  string
	By     int    // the later change that set it; 0: somebody else
	Nested bool   // a later act of the same change may be the reason, and is undone first
	Others bool   // others put it there: it is not removed, even by force
	Hint   string // what a person can do; "" for the usual advice
}

// unless is nil for a drift that force overcomes. What others put there is not ours to remove, even by force.
func (d *Drift) unless(force bool) *Drift {
	if d != nil && force && !d.Others {
		return nil
	}
	return d
}

// inTheWay makes the error of an undo from what a place's drift gave: it has drifted, or could not be read.
func inTheWay(d *Drift, err error) error {
	if err != nil || d == nil {
		return err
	}
	return &Drifted{[]Drift{*d}}
}

// Drifted is the error of an undo that found that somebody has changed places since.
type Drifted struct{ Drifts []Drift }

// Error implements error.
func (d *Drifted) Error() string {
	var lines []string
	for _, x := range d.Drifts {
		who := ""
		if x.By > 0 {
			who = fmt.Sprintf(", set by change %d", x.By)
		}
		lines = append(lines, fmt.Sprintf("%s was left as %s and is %s%s", x.Place, x.Want, x.Found, who))
	}
	return "changed since by somebody: " + strings.Join(lines, "; ")
}

// Hint says what a person can do.
func (d *Drifted) Hint() string {
	for _, x := range d.Drifts {
		if x.By > 0 {
			return fmt.Sprintf("undo change %d first, or use --force to set the older value anyway", x.By)
		}
		if x.Hint != "" {
			return x.Hint
		}
		if x.Others {
			return "--keep leaves these and undoes the rest; what others put there is not removed, even with --force"
		}
	}
	return "--keep leaves these and undoes the rest; --force reverts them too"
}

// Undo takes changes back, in the order given, which must be newest first. Unless told otherwise it touches
// nothing if others have changed any of the places since. The error is a *Refusal, a *Drifted, or joins those
// of the acts that could not be undone; the journal keeps these open, so that another Undo tries them again.
func (k *Executor) Undo(ctx context.Context, numbers []int, o UndoOptions) error {
	unlock, err := k.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := k.Changes(ctx)
	if err != nil {
		return err
	}
	var todo []*Change
	for _, n := range numbers {
		c, err := whole(all, n)
		if err == nil && o.Unconfirmed && c.Confirmed {
			err = &Refusal{Why: fmt.Sprintf("change %d was confirmed just now", n)}
		}
		if err != nil {
			return err
		}
		todo = append(todo, c)
	}
	if err := lastFirst(all, todo); err != nil {
		return err
	}
	for _, c := range todo {
		if err := c.movedOn(o.Discard); err != nil {
			return err
		}
	}
	if err := k.drifted(ctx, all, todo, o); err != nil {
		return err
	}
	var failed []error
	for _, c := range todo {
		if err := k.undo(ctx, c, -1, o); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

// whole gives a change whose journal could be read to its end.
func whole(all []*Change, number int) (*Change, error) {
	i := slices.IndexFunc(all, func(c *Change) bool { return c.Number == number })
	switch {
	case i < 0:
		return nil, &Refusal{Why: fmt.Sprintf("there is no change %d", number), What: "plumb history lists them"}
	case all[i].Damage != nil:
		return nil, all[i].Damage
	}
	return all[i], nil
}

// drifted looks at all places before the first is touched. If several acts changed one place, the last of them
// says how it should be. A place that cannot be read now, such as a setting of a server that is down, does not
// stop the rest, because the files that would let the server start may be part of that; its own undo reports the
// error. Force and Keep get past most drifts. They do not where the data of a server were moved or replaced and a
// switch cannot be undone as things are: the server would be stopped for nothing.
func (k *Executor) drifted(ctx context.Context, all, todo []*Change, o UndoOptions) error {
	seen := map[string]bool{}
	var drifts []Drift
	nested := false           // things were made that may be in those made before them, and are undone first
	past := o.Force || o.Keep // does not stop at what somebody changed
	for _, c := range todo {
		for i := len(c.Acts) - 1; i >= 0 && (!past || c.ofData()); i-- {
			p := c.Acts[i]
			if !p.open() || seen[p.Act.Place()] {
				continue
			}
			seen[p.Act.Place()] = true
			d, err := c.identified(p.Act).deed().drift(ctx, k, &p)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && d != nil && !(d.Nested && nested) && (!past || d.Others && p.Act.Switch != nil) {
				d.Change, d.By = c.Number, laterThan(all, c.Number, d.Place)
				if n := c.laterStage(all); n > 0 && d.Others {
					d.Hint = fmt.Sprintf("first undo change %d, which is a later stage of the same run; or undo all of it, for example with plumb provision --undo", n)
				}
				drifts = append(drifts, *d)
			}
			nested = nested || p.Act.Edit == nil && p.Act.Switch == nil
		}
	}
	if drifts != nil {
		return &Drifted{drifts}
	}
	return nil
}

// laterStage gives the number of the last change in force that is a later stage of the same; 0 if there is none.
func (c *Change) laterStage(all []*Change) (last int) {
	for _, later := range all {
		if c.Of != "" && later.Of == c.Of && later.Number > c.Number && later.Open() {
			last = later.Number
		}
	}
	return last
}

// lastFirst refuses to undo a change that moved or replaced the data of a server while a later one that did the same is
// in force: the data would go back to a directory, or to a version, that the server has left. Force does not help.
func lastFirst(all, todo []*Change) error {
	for i, c := range todo {
		for _, later := range all {
			if later.Number <= c.Number || slices.Contains(todo[:i], later) || !slices.ContainsFunc(later.Acts, Recorded.open) {
				continue
			}
			if server, ok := sameData(c, later); ok {
				return &Refusal{Why: fmt.Sprintf("change %d moved or replaced the data of %s after change %d", later.Number, server, c.Number),
					What: fmt.Sprintf("undo change %d first", later.Number)}
			}
		}
	}
	return nil
}

// ofData tells whether a change moves or replaces all data of a server.
func (c *Change) ofData() bool {
	return c.Moves() || slices.ContainsFunc(c.Steps, func(s Step) bool { return s.Data })
}

// sameData names a server whose data two changes both moved or replaced.
func sameData(a, b *Change) (server string, ok bool) {
	for _, s := range a.Steps {
		if s.Data && slices.ContainsFunc(b.Steps, func(t Step) bool { return t.Data && t.Knob.Of == s.Knob.Of }) {
			return s.Knob.Of.String(), true
		}
	}
	return "", false
}

// laterThan gives the number of the last later change in force that changed a place; 0 if there is none.
func laterThan(all []*Change, number int, place string) int {
	by := 0
	for _, c := range all {
		for _, p := range c.Acts { // of a damaged one nothing is known
			if c.Number > number && p.open() && p.Act.Place() == place {
				by = c.Number
			}
		}
	}
	return by
}

// takeBack undoes one step of a change that failed, and says in words what became of it. What somebody else has changed
// meanwhile is left as it is.
func (k *Executor) takeBack(ctx context.Context, c *Change, step int) (back string, err error) {
	if err := k.undo(ctx, c, step, UndoOptions{Keep: true}); err != nil {
		return "could not be reverted: " + err.Error(), err
	}
	for _, p := range c.Acts {
		if p.Step == step && p.State == Left {
			return TakenBack + ", except for what was " + p.Why, nil
		}
	}
	return TakenBack, nil
}

// undo takes back the acts of a change, or of one of its steps (-1: all), the last one first. An act that cannot be
// undone stays open in the journal. It does not stop the rest, except where the data of a server were moved or replaced.
func (k *Executor) undo(ctx context.Context, c *Change, step int, o UndoOptions) error {
	var failed []error
	c.discard = o.Discard
	for i := len(c.Acts) - 1; i >= 0; i-- {
		p := c.Acts[i]
		if !p.open() || step >= 0 && p.Step != step {
			continue
		}
		err := k.undoAct(ctx, c, p, o)
		if err != nil {
			failed = append(failed, fmt.Errorf("undo %s: %w", p.Act.Place(), err))
		}
		if err != nil && c.ofData() { // the next acts would take the data from under a server, or remove its earlier data
			break
		}
		if o.Each != nil {
			o.Each(c, c.Acts[i], err)
		}
	}
	return errors.Join(failed...)
}

func (k *Executor) undoAct(ctx context.Context, c *Change, p Recorded, o UndoOptions) error {
	if err := k.ended(ctx, &p); err != nil {
		return err
	}
	if !o.Force {
		d, err := c.identified(p.Act).deed().drift(ctx, k, &p)
		if err != nil {
			return k.orDown(ctx, c, p, o, err)
		}
		if d != nil && o.Keep {
			return k.note(ctx, c, kindLeft, result{N: p.N, Why: (&Drifted{[]Drift{*d}}).Error()})
		}
		if d != nil {
			return &Drifted{[]Drift{*d}}
		}
	}
	seen := ""
	if s := c.identified(p.Act).Switch; s != nil {
		var err error
		if seen, err = k.seen(ctx, s); err != nil {
			return k.orDown(ctx, c, p, o, err)
		}
	}
	if err := k.note(ctx, c, kindUndoing, result{N: p.N, Got: seen}); err != nil {
		return err
	}
	err := c.identified(p.Act).deed().undo(ctx, k, c, &p, o.Force)
	if d, ok := err.(*Drifted); ok && o.Keep { // only the undo itself could see that
		return k.note(ctx, c, kindLeft, result{N: p.N, Why: d.Error()})
	}
	if err != nil {
		return err
	}
	return k.note(ctx, c, kindUndone, result{N: p.N})
}

// orDown undoes the act without its server, if the server does not answer and stores the value in a file that can be
// edited. Otherwise it gives the error back.
func (k *Executor) orDown(ctx context.Context, c *Change, p Recorded, o UndoOptions, err error) error {
	if _, ok := errors.AsType[*Waiting](err); ok && p.Act.Switch != nil && p.Act.Switch.Down != nil && p.Act.Switch.Down.File != "" {
		return k.whileDown(ctx, c, p, o, err)
	}
	return err
}

// RestartBack repeats the restarts that a change did, so that the values which its undo has restored come into force.
// did tells whether there was anything to restart.
func (k *Executor) RestartBack(ctx context.Context, number int) (did bool, err error) {
	err = k.with(ctx, number, func(c *Change) error {
		for _, r := range c.RestartsBack() {
			if err := operate(ctx, k.Doer, r.Do, ""); err != nil {
				return fmt.Errorf("%s: %w", r.What, err)
			}
			did = true
			if err := k.note(ctx, c, kindRestartedBack, result{What: r.What}); err != nil {
				return err
			}
		}
		return nil
	})
	return did, err
}
