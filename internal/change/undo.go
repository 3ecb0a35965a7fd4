package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"plumb/internal/edit"
)

// UndoOptions say how changes are taken back.
type UndoOptions struct {
	Force bool                                 // also what somebody changed since
	Keep  bool                                 // leave what somebody changed since, and undo the rest
	Each  func(c *Change, p Recorded, e error) // called after each act
}

// Drift is a place that is not as Plumb left it.
type Drift struct {
	Change int
	Place  string
	Want   string // as Plumb left it
	Found  string
	By     int // the later change that set it; 0: somebody else
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
		c := find(all, n)
		if c == nil {
			return &Refusal{Why: fmt.Sprintf("there is no change %d", n), What: "plumb history lists them"}
		}
		if c.Damage != nil {
			return c.Damage
		}
		todo = append(todo, c)
	}
	if !o.Force && !o.Keep {
		if err := k.drifted(ctx, all, todo); err != nil {
			return err
		}
	}
	var failed []error
	for _, c := range todo {
		if err := k.undo(ctx, c, -1, o); err != nil {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
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
// what was in the way.
func (k *Executor) drifted(ctx context.Context, all, todo []*Change) error {
	seen := map[string]bool{}
	var drifts []Drift
	for _, c := range todo {
		for i := len(c.Acts) - 1; i >= 0; i-- {
			p := c.Acts[i]
			if !p.open() || seen[p.Act.Place()] {
				continue
			}
			seen[p.Act.Place()] = true
			d, err := k.drift(ctx, p)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err == nil && d != nil {
				d.Change, d.By = c.Number, laterThan(all, c.Number, d.Place)
				drifts = append(drifts, *d)
			}
		}
	}
	if drifts != nil {
		return &Drifted{drifts}
	}
	return nil
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

// drift says how a place differs from what it was before and from what Plumb
// left; nil when it does not.
func (k *Executor) drift(ctx context.Context, p Recorded) (*Drift, error) {
	if e := p.Act.Edit; e != nil {
		text, err := rawOrNone(ctx, k.Doer, e.File)
		if err != nil {
			return nil, err
		}
		if _, err := p.back(text); errors.Is(err, edit.ErrDrifted) {
			found, _, _ := edit.Get(e.Form, text, e.Key)
			return &Drift{Place: p.Act.Place(), Want: e.Value, Found: cmp.Or(found, "not set there as Plumb wrote it")}, nil
		} else if err != nil {
			return nil, err
		}
		return nil, nil
	}
	s := p.Act.Switch
	now, err := k.seen(ctx, s)
	if err != nil {
		return nil, err
	}
	want := cmp.Or(p.Got, s.After)
	// Of an act that began and did not end, what lies between is its own doing.
	if now == want || now == p.Made.Before || p.State != Done {
		return nil, nil
	}
	return &Drift{Place: p.Act.Place(), Want: want, Found: now}, nil
}

// takeBack undoes one step of a change that failed.
func (k *Executor) takeBack(ctx context.Context, c *Change, step int) error {
	return k.undo(ctx, c, step, UndoOptions{Keep: true})
}

// undo takes back the acts of a change, or of one of its steps, the last one
// first. What cannot be undone does not stop the rest: the journal keeps it open.
func (k *Executor) undo(ctx context.Context, c *Change, step int, o UndoOptions) error {
	var failed []error
	for i := len(c.Acts) - 1; i >= 0; i-- {
		p := c.Acts[i]
		if !p.open() || step >= 0 && p.Step != step {
			continue
		}
		err := k.undoAct(ctx, c, p, o)
		if err != nil {
			failed = append(failed, fmt.Errorf("undo %s: %w", p.Act.Place(), err))
		}
		if o.Each != nil {
			o.Each(c, c.Acts[i], err)
		}
	}
	return errors.Join(failed...)
}

func (k *Executor) undoAct(ctx context.Context, c *Change, p Recorded, o UndoOptions) error {
	if !o.Force {
		d, err := k.drift(ctx, p)
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
	if s := p.Act.Switch; s != nil {
		if _, err := k.seen(ctx, s); err != nil {
			return k.orDown(ctx, c, p, o, err)
		}
	}
	if err := k.note(ctx, c, kindUndoing, result{N: p.N}); err != nil {
		return err
	}
	var err error
	if p.Act.Edit != nil {
		err = k.unwrite(ctx, p, o.Force)
	} else {
		err = k.turnBack(ctx, p)
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

// turnBack brings a switch back to the state before.
func (k *Executor) turnBack(ctx context.Context, p Recorded) error {
	s := p.Act.Switch
	now, err := k.seen(ctx, s)
	if err != nil {
		return err
	}
	if now == p.Made.Before && p.State == Done {
		return nil
	}
	if err := operate(ctx, k.Doer, s.back(p.Made.Before), p.Made.Before); err != nil {
		return err
	}
	got, err := reach(ctx, k.Doer, s, p.Made.Before)
	if err == nil && got != p.Made.Before {
		err = fmt.Errorf("%s did not take %s back: it is %s", s.On, p.Made.Before, got)
	}
	return err
}

// unwrite takes an edit back.
func (k *Executor) unwrite(ctx context.Context, p Recorded, force bool) error {
	e := p.Act.Edit
	if err := k.Doer.Tidy(ctx, e.File); err != nil {
		return err
	}
	text, err := rawOrNone(ctx, k.Doer, e.File)
	if err != nil {
		return err
	}
	after, err := p.back(text)
	if force && errors.Is(err, edit.ErrDrifted) {
		after, err = p.forced(text)
	}
	switch {
	case err != nil:
		return err
	case text == nil && after == nil, text != nil && after != nil && string(text) == string(after):
	case after == nil:
		err = k.Doer.Remove(ctx, e.File)
	default:
		err = k.Doer.Replace(ctx, e.File, after, e.perm())
	}
	if err != nil {
		return err
	}
	if err := k.reread(ctx, e); err != nil {
		return waiting(ctx, e.Apply.Target, fmt.Errorf("%s is as it was; have it read again: %w", e.File, err))
	}
	return nil
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

// back gives a file as it is without the edit: nil for none. A file of ours
// in which nothing is left but its header goes.
func (p Recorded) back(text []byte) ([]byte, error) {
	e := p.Act.Edit
	if text == nil {
		if p.Made.New || len(p.Made.Splice.Old) == 0 {
			return nil, nil // whoever removed the file removed our value
		}
		return nil, edit.ErrDrifted
	}
	after, err := edit.Revert(e.Form, *p.Made.Splice, text, e.Key)
	if err != nil {
		return nil, err
	}
	return p.kept(after), nil
}

// forced gives a file with the value before, wherever the key stands now: set
// anew, or taken out when the file did not set it. nil stands for no file.
func (p Recorded) forced(text []byte) (after []byte, err error) {
	e := p.Act.Edit
	switch {
	case p.Made.Value != nil:
		return edit.Set(e.Form, text, e.Key, *p.Made.Value)
	case !p.Made.Unset:
		return nil, fmt.Errorf("%s was changed, and what it said before is not known: %w", e.File, edit.ErrDrifted)
	}
	if after, err = edit.Unset(e.Form, text, e.Key); err != nil {
		return nil, err
	}
	return p.kept(after), nil
}

// kept gives what stays of a file: nil when it is ours and nothing but its
// header is left.
func (p Recorded) kept(text []byte) []byte {
	if (p.Act.Edit.Ours || p.Made.New) && string(text) == p.Act.Edit.blank() {
		return nil
	}
	return text
}
