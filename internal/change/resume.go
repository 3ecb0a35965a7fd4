package change

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// plan lists the acts of a draft.
func (d Draft) plan() (all plan) {
	for i, s := range d.Steps {
		for _, a := range s.Recipe.Acts {
			all.Acts = append(all.Acts, plannedAct{Step: i, Act: a})
		}
	}
	return all
}

// form is the form of a journal that can hold all acts of a plan.
func (p plan) form() int {
	form := 1
	for _, a := range p.Acts {
		form = max(form, a.Act.form())
	}
	return form
}

// Resume continues a change of form 2 that was stopped or killed, from its journal alone: it completes the act that was
// begun, and does those that were planned. If an act fails, all is left as it is, to be resumed again or undone. The
// error is a *Refusal if the change cannot be resumed.
func (k *Executor) Resume(ctx context.Context, number int) error {
	return k.with(ctx, number, func(c *Change) error {
		if c.plan == nil {
			return &Refusal{Why: fmt.Sprintf("change %d has no record of what it was going to do", number), What: "undo it, and make it again"}
		}
		for i := range c.Acts {
			if state := c.Acts[i].State; state == Undoing || state == Undone || state == Left {
				return &Refusal{Why: fmt.Sprintf("change %d is being undone", number), What: fmt.Sprintf("plumb undo %d continues that", number)}
			}
		}
		for _, a := range c.plan {
			if err := k.resume(ctx, c, a); err != nil {
				return fmt.Errorf("continue with %s: %w", a.Act.Place(), err)
			}
		}
		return k.note(ctx, c, kindEnd, result{})
	})
}

func (k *Executor) resume(ctx context.Context, c *Change, a plannedAct) error {
	begun := 0 // the number of the act, if it was begun and its kind reads again what is there
	for i := range c.Acts {
		p := &c.Acts[i]
		if p.Step != a.Step || !reflect.DeepEqual(p.Act, a.Act) {
			continue
		}
		if p.State == Done {
			return nil
		}
		if p.Act.form() > 1 {
			err := k.ended(ctx, p)
			if err == nil {
				_, err = k.carryOut(ctx, c, p)
			}
			return err
		}
		begun = p.N
	}
	made, need, err := c.identified(a.Act).deed().found(ctx, k)
	switch {
	case err != nil:
		return err
	case need:
		_, err = k.intend(ctx, c, a, made)
	case begun > 0:
		// It had been done. That is written down now: what is done next may hide it, as a mount hides its directory.
		err = k.note(ctx, c, kindDone, result{N: begun, Got: a.Act.beyond(made)})
	}
	return err
}

// beyond gives the state in which a switch was found that need not be turned, when it is not the one wanted.
func (a Act) beyond(made Made) string {
	if a.Switch == nil || made.Before == a.Switch.After {
		return ""
	}
	return made.Before
}

// with calls do with one change, while no other process writes journals.
func (k *Executor) with(ctx context.Context, number int, do func(*Change) error) error {
	unlock, err := k.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	all, err := k.Changes(ctx)
	if err != nil {
		return err
	}
	c, err := whole(all, number)
	if err != nil {
		return err
	}
	return errors.Join(do(c), ctx.Err())
}
