package change

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	Back      string   // with Failure: TakenBack, or what was not
}

// TakenBack is said of a step that failed and of which nothing is left.
const TakenBack = "taken back"

// ApplyOptions say how a draft is applied.
type ApplyOptions struct {
	Begin   Begin                         // who and where; the rest is filled in
	Restart bool                          // also do the restarts that steps wait for
	Armed   func(*Change) error           // called before the first effect, once the journal is open: to set the dead man's switch
	Proof   func(context.Context) error   // looks, once all is done, whether it is well; an error takes all of it back
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
	if draft.ofData() {
		free, err := k.reserve(ctx)
		if err != nil {
			return Outcome{}, err
		}
		defer free()
	}
	o.Begin.Steps = nil
	out := Outcome{}
	for _, s := range draft.Steps {
		s.Waits = s.Recipe.Waits
		o.Begin.Steps = append(o.Begin.Steps, s.Step)
		out.Steps = append(out.Steps, StepOutcome{Prepared: s})
	}
	c, err := k.begin(ctx, o.Begin, draft.plan())
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
	if err == nil && o.Proof != nil {
		err = k.proven(ctx, c, &out, o)
	}
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
			s.Failure, s.Back = err.Error(), "kept, to continue or to undo"
			if !errors.Is(err, errStopped) {
				s.Back, _ = k.takeBack(context.WithoutCancel(ctx), c, i) // which says why not
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

// proven takes all steps back, the last first, when the proof fails.
func (k *Executor) proven(ctx context.Context, c *Change, out *Outcome, o ApplyOptions) error {
	err := o.Proof(ctx)
	if err == nil {
		return nil
	}
	for i := range slices.Backward(out.Steps) {
		s := &out.Steps[i]
		var left error
		s.Done, s.Failure = false, err.Error()
		if s.Back, left = k.takeBack(context.WithoutCancel(ctx), c, i); left != nil {
			break
		}
	}
	return fmt.Errorf("the check of the result failed: %w", err)
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
			s.Got = append(s.Got, fmt.Sprintf("%s took %s instead of %s", a.Place(), got, a.Switch.After))
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
	made, need, err := c.identified(a).deed().found(ctx, k)
	if err != nil || !need {
		return "", err
	}
	return k.intend(ctx, c, plannedAct{Step: step, Act: a}, made)
}

// intend writes the intent of an act down, and does it.
func (k *Executor) intend(ctx context.Context, c *Change, a plannedAct, made Made) (got string, err error) {
	if err := k.note(ctx, c, kindIntent, intent{Step: a.Step, Act: a.Act, Made: made}); err != nil {
		return "", err
	}
	return k.carryOut(ctx, c, &c.Acts[len(c.Acts)-1])
}

// carryOut does an act whose intent is written down.
func (k *Executor) carryOut(ctx context.Context, c *Change, p *Recorded) (got string, err error) {
	got, err = c.identified(p.Act).deed().do(ctx, k, c, p)
	if err != nil {
		cut := ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)
		return "", errors.Join(err, k.note(context.WithoutCancel(ctx), c, kindFailed, result{N: p.N, Why: err.Error(), Cut: cut}))
	}
	return got, k.note(ctx, c, kindDone, result{N: p.N, Got: got})
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
			for _, op := range s.Recipe.Shorten {
				_ = op.do(ctx, k.Doer)
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
