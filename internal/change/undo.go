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
	// Discard loses what a server that was moved wrote since: it is not copied back. Refused once a part of it is.
	Discard bool
	// Unconfirmed refuses a change that somebody has confirmed: who undoes when a time is over may have read the journal
	// just before.
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
	Nested bool   // it may be so for what the same change did later
	Others bool   // what others put there: it is not removed, even by force
	Hint   string // what a person can do; "" for what helps with any
}

// unless leaves out what force overcomes. What others put there is not ours to remove, even by force.
func (d *Drift) unless(force bool) *Drift {
	if d != nil && force && !d.Others {
		return nil
	}
	return d
}

// inTheWay is the error of an undo whose place was changed since, or could not be looked at.
func inTheWay(d *Drift, err error) error {
	if err != nil || d == nil {
		return err
	}
	return &Drifted{[]Drift{*d}}
}

// Drifted is the error of an undo that found places changed since.
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
			return fmt.Sprintf("undo change %d first; or --force to set the older value nevertheless", x.By)
		}
		if x.Hint != "" {
			return x.Hint
		}
		if x.Others {
			return "--keep leaves these and undoes the rest; what others put there is not removed, even with --force"
		}
	}
	return "--keep leaves these and undoes the rest; --force takes them back as well"
}

// Undo takes changes back, in the order given: newest first. Unless told
// otherwise it touches nothing when any place was changed since by others.
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
	c := find(all, number)
	switch {
	case c == nil:
		return nil, &Refusal{Why: fmt.Sprintf("there is no change %d", number), What: "plumb history lists them"}
	case c.Damage != nil:
		return nil, c.Damage
	}
	return c, nil
}

func find(all []*Change, number int) *Change {
	for _, c := range all {
		if c.Number == number {
			return c
		}
	}
	return nil
}

// drifted looks at all places before the first is touched. Of several acts on
// one place the last one tells what it should be. A place that cannot be read
// now, such as a setting of a server that is down, does not hold up the rest:
// the files that would let the server start are part of it. Its own undo says
// what was in the way. Force and Keep get past most; but where data of a server
// were moved or replaced, and a switch cannot be taken back as things are, the
// server would be stopped for nothing.
func (k *Executor) drifted(ctx context.Context, all, todo []*Change, o UndoOptions) error {
	seen := map[string]bool{}
	var drifts []Drift
	nested := false           // things were made that may be in those made before them, and are undone first
	gets := o.Force || o.Keep // past what somebody changed
	for _, c := range todo {
		for i := len(c.Acts) - 1; i >= 0 && (!gets || c.ofData()); i-- {
			p := c.Acts[i]
			if !p.open() || seen[p.Act.Place()] {
				continue
			}
			seen[p.Act.Place()] = true
			d, err := c.identified(p.Act).deed().drift(ctx, k, &p)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && d != nil && !(d.Nested && nested) && (!gets || d.Others && p.Act.Switch != nil) {
				d.Change, d.By = c.Number, laterThan(all, c.Number, d.Place)
				if n := c.laterStage(all); n > 0 && d.Others {
					d.Hint = fmt.Sprintf("undo change %d first, which is a later stage of the same; or all of it, such as with plumb provision --undo", n)
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

// laterStage gives the last change in force of what a change is a stage of; 0: none came after it.
func (c *Change) laterStage(all []*Change) (last int) {
	for _, later := range all {
		if c.Of != "" && later.Of == c.Of && later.Number > c.Number && later.Open() {
			last = later.Number
		}
	}
	return last
}

// lastFirst refuses to give a server the data that it had before a change, while a later change that moved or replaced its
// data is in force: it would be undone into a directory, or for a version, that the server has left. Force does not help.
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

// laterThan gives the number of a later change that holds a place.
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

// takeBack undoes one step of a change that failed, and says what became of it. What somebody changed meanwhile is left as it is.
func (k *Executor) takeBack(ctx context.Context, c *Change, step int) (back string, err error) {
	if err := k.undo(ctx, c, step, UndoOptions{Keep: true}); err != nil {
		return "could not be taken back: " + err.Error(), err
	}
	for _, p := range c.Acts {
		if p.Step == step && p.State == Left {
			return TakenBack + ", but for what was " + p.Why, nil
		}
	}
	return TakenBack, nil
}

// undo takes back the acts of a change, or of one of its steps, the last one
// first. What cannot be undone does not stop the rest, except where data of a server were moved or
// replaced: the journal keeps it open.
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
		if err != nil && c.ofData() { // what comes next would take a server's data from under it, or remove those of before
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
	if d, ok := err.(*Drifted); ok && o.Keep { // seen only by who takes it back
		return k.note(ctx, c, kindLeft, result{N: p.N, Why: d.Error()})
	}
	if err != nil {
		return err
	}
	return k.note(ctx, c, kindUndone, result{N: p.N})
}

// orDown goes on where a server does not answer and what it keeps can be
// changed without it.
func (k *Executor) orDown(ctx context.Context, c *Change, p Recorded, o UndoOptions, err error) error {
	if _, ok := errors.AsType[*Waiting](err); ok && p.Act.Switch != nil && p.Act.Switch.Down != nil && p.Act.Switch.Down.File != "" {
		return k.whileDown(ctx, c, p, o, err)
	}
	return err
}

// RestartBack does the restarts again that a change did, so that the values
// before it, which its undo has put back, are in force. did tells whether there
// was any to do.
func (k *Executor) RestartBack(ctx context.Context, number int) (did bool, err error) {
	unlock, err := k.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	all, err := k.Changes(ctx)
	if err != nil {
		return false, err
	}
	c := find(all, number)
	if c == nil || c.Damage != nil {
		return false, nil
	}
	for _, r := range c.RestartsBack() {
		if err := operate(ctx, k.Doer, r.Do, ""); err != nil {
			return did, fmt.Errorf("%s: %w", r.What, err)
		}
		did = true
		if err := k.note(ctx, c, kindRestartedBack, result{What: r.What}); err != nil {
			return did, err
		}
	}
	return did, nil
}
