package change

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"plumb/internal/edit"
)

// Outcome is what became of a plan.
type Outcome struct {
	Number int // of the change in the journal; 0 when nothing was begun
	Steps  []StepOutcome
}

// StepOutcome is what became of one step.
type StepOutcome struct {
	Prepared
	Done      bool
	Got       []string // "the server took 134217728 in place of 130000000"
	Restarted bool     // what it waits for was done
	Failure   string   // why it was taken back, or could not be; "" when it was not tried
	Back      string   // with Failure: "taken back", or what could not be
}

// ApplyOptions say how a draft is applied.
type ApplyOptions struct {
	Begin   Begin                         // who and where; the rest is filled in
	Restart bool                          // also do the restarts that steps wait for
	Armed   func(*Change) error           // called before the first effect, once the journal is open: to set the dead man's switch
	Each    func(i int, s *StepOutcome)   // called after each step
	Doing   func(i int, a Act, done bool) // called before and after each act
}

// Apply does the steps of a draft, in their order. A step of which an act
// fails is taken back, and the steps after it are not begun.
func (k *Executor) Apply(ctx context.Context, draft Draft, o ApplyOptions) (Outcome, error) {
	if draft.Stops() {
		return Outcome{}, &Refusal{Why: "the plan cannot be applied as a whole", What: "nothing was changed"}
	}
	if len(draft.Steps) == 0 {
		return Outcome{}, nil
	}
	if o.Restart && !o.Begin.Try.IsZero() {
		if err := draft.TryRestarts(); err != nil {
			return Outcome{}, err
		}
	}
	unlock, err := k.lock(ctx)
	if err != nil {
		return Outcome{}, err
	}
	defer unlock()
	o.Begin.Steps = nil
	out := Outcome{}
	for _, s := range draft.Steps {
		s.Waits = s.Recipe.Waits
		o.Begin.Steps = append(o.Begin.Steps, s.Step)
		out.Steps = append(out.Steps, StepOutcome{Prepared: s})
	}
	c, err := k.begin(ctx, o.Begin)
	if err != nil {
		return out, err
	}
	out.Number = c.Number
	if o.Armed != nil {
		if err := o.Armed(c); err != nil {
			return out, fmt.Errorf("set the timer that undoes it: %w", errors.Join(err, k.note(ctx, c, kindEnd, result{Why: err.Error()})))
		}
	}
	err = k.steps(ctx, c, &out, o)
	if err == nil && o.Restart {
		err = k.restarts(ctx, c, &out)
	}
	// Whatever happened, everything that will be done has been done.
	if endErr := k.note(context.WithoutCancel(ctx), c, kindEnd, result{}); endErr != nil {
		err = errors.Join(err, endErr)
	}
	return out, err
}

func (k *Executor) steps(ctx context.Context, c *Change, out *Outcome, o ApplyOptions) error {
	for i := range out.Steps {
		s := &out.Steps[i]
		err := k.step(ctx, c, i, s, o)
		if err != nil {
			s.Failure, s.Back = err.Error(), "taken back"
			if backErr := k.takeBack(context.WithoutCancel(ctx), c, i); backErr != nil {
				s.Back = "could not be taken back: " + backErr.Error()
			}
		}
		s.Done = err == nil
		if o.Each != nil {
			o.Each(i, s)
		}
		if err != nil {
			return fmt.Errorf("step %d, %s: %w", i+1, s.Knob, err)
		}
	}
	return nil
}

func (k *Executor) step(ctx context.Context, c *Change, i int, s *StepOutcome, o ApplyOptions) error {
	for _, a := range s.Recipe.Acts {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("stopped: %w", err)
		}
		if o.Doing != nil {
			o.Doing(i, a, false)
		}
		got, err := k.act(ctx, c, i, a)
		if err != nil {
			return err
		}
		if got != "" {
			s.Got = append(s.Got, fmt.Sprintf("%s took %s in place of %s", a.Switch.On, got, a.Switch.After))
		}
		if o.Doing != nil {
			o.Doing(i, a, true)
		}
	}
	return nil
}

// act does one act: intent, effect, result. It gives the state that was
// reached when it is not the one wanted.
func (k *Executor) act(ctx context.Context, c *Change, step int, a Act) (got string, err error) {
	made, after, need, err := k.found(ctx, a)
	if err != nil || !need {
		return "", err
	}
	var swapped int64
	if a.Edit == nil && a.Switch.Guard != nil {
		if swapped, err = k.guarded(ctx, a.Switch.Guard, -1); err != nil {
			return "", err
		}
	}
	if err := k.note(ctx, c, kindIntent, intent{Step: step, Act: a, Made: made}); err != nil {
		return "", err
	}
	n := len(c.log.Records)
	if a.Edit != nil {
		err = k.write(ctx, a.Edit, after)
	} else {
		got, err = k.turn(ctx, a.Switch, made.Before)
		if err == nil && a.Switch.Guard != nil {
			_, err = k.guarded(ctx, a.Switch.Guard, swapped)
		}
	}
	if err != nil {
		return "", errors.Join(err, k.note(context.WithoutCancel(ctx), c, kindFailed, result{N: n, Why: err.Error()}))
	}
	return got, k.note(ctx, c, kindDone, result{N: n, Got: got})
}

// found reads what is there before an act; need is false when nothing is
// left to do.
func (k *Executor) found(ctx context.Context, a Act) (made Made, after []byte, need bool, err error) {
	if a.Edit == nil {
		made.Before, err = inspect(ctx, k.Doer, a.Switch.Inspect)
		if err != nil {
			return made, nil, false, fmt.Errorf("read %s: %w", a.Switch.On, err)
		}
		return made, nil, made.Before != a.Switch.After && !slices.Contains(a.Switch.Beyond, made.Before), nil
	}
	text, err := rawOrNone(ctx, k.Doer, a.Edit.File)
	if err != nil {
		return made, nil, false, err
	}
	if after, err = a.Edit.after(text); err != nil {
		return made, nil, false, err
	}
	made.New = text == nil
	if made.New {
		text = []byte(a.Edit.blank()) // the header is nobody's value: it goes with the last of them
	}
	splice := edit.Diff(text, after)
	made.Splice = &splice
	value, had, err := edit.Get(a.Edit.Form, text, a.Edit.Key)
	if err != nil {
		return made, nil, false, err
	}
	if made.Unset = !had; had {
		made.Value = &value
	}
	return made, after, made.New || string(text) != string(after), nil
}

func (k *Executor) write(ctx context.Context, e *Edit, text []byte) error {
	if err := k.Doer.Replace(ctx, e.File, text, e.perm()); err != nil {
		return err
	}
	return k.reread(ctx, e)
}

// reread makes those who read a file read it again.
func (k *Executor) reread(ctx context.Context, e *Edit) error {
	if e.Apply == nil {
		return nil
	}
	return e.Apply.do(ctx, k.Doer)
}

// turn does a switch and reads back what came of it.
func (k *Executor) turn(ctx context.Context, s *Switch, before string) (string, error) {
	if err := operate(ctx, k.Doer, s.Do, before); err != nil {
		return "", err
	}
	got, err := reach(ctx, k.Doer, s, s.After)
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s back: %w", s.On, err)
	case got == s.After:
		return "", nil
	case got == before:
		return "", fmt.Errorf("%s did not take %s: it is still %s", s.On, s.After, before)
	}
	return got, nil
}

// guarded gives the pages swapped so far; it fails when the guard does not
// hold. since -1 stands for now.
func (k *Executor) guarded(ctx context.Context, g *Guard, since int64) (int64, error) {
	_, swapped, err := memory(ctx, k.Doer)
	if err != nil {
		return 0, fmt.Errorf("watch the memory: %w", err)
	}
	if since < 0 {
		since = swapped
	}
	why, err := g.holds(ctx, k.Doer, since)
	if err == nil && why != "" {
		err = errors.New(why)
	}
	return swapped, err
}

// restarts does what steps wait for, each once.
func (k *Executor) restarts(ctx context.Context, c *Change, out *Outcome) error {
	done := map[string]bool{}
	for i := range out.Steps {
		s := &out.Steps[i]
		if s.Recipe.Waits == "" || s.Recipe.Restart == nil {
			continue
		}
		key := fmt.Sprint(s.Recipe.Restart)
		if !done[key] {
			if err := k.note(ctx, c, kindRestarting, Restart{What: s.Recipe.Waits, Do: s.Recipe.Restart}); err != nil {
				return err
			}
			if err := operate(ctx, k.Doer, s.Recipe.Restart, ""); err != nil {
				return fmt.Errorf("%s: %w", s.Recipe.Waits, err)
			}
			if err := k.note(ctx, c, kindRestarted, result{What: s.Recipe.Waits}); err != nil {
				return err
			}
		}
		done[key], s.Restarted = true, true
	}
	return nil
}
