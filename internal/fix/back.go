package fix

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/units"
)

// Undo is how changes are taken back.
type Undo struct {
	Open    func() (*host.LiveDoer, *change.Executor, error) // the journal, with sessions of its own
	Force   bool                                             // also what somebody changed since
	Keep    bool                                             // but for what somebody changed since
	Restart bool                                             // and do their restarts again
	Discard bool                                             // and lose what servers wrote since their data were moved
	Forget  bool                                             // take nothing back: end what can never be, unseen

	unconfirmed bool          // only what nobody has confirmed meanwhile
	patience    time.Duration // undoTime, but for tests
}

// Undone is one act that an undo tried to take back.
type Undone struct {
	Change int
	Past   change.Recorded
	Err    error
}

// Partly is the error of what did a part, and said what is left.
type Partly struct{ error }

// Unwrap gives the error of the part that was not done.
func (p *Partly) Unwrap() error { return p.error }

// Partly tells the command line that it is one.
func (p *Partly) Partly() {}

// Choice says which changes are to be undone.
type Choice struct {
	Number  int  // 0: the last one
	All     bool // every one
	Restart bool // also one of which only a restart is to be done again
	// Plan, where it is not nil, leaves only what came of that plan, and all of it.
	Plan *advise.Plan
}

// Of gives those changes, the newest first.
func (c Choice) Of(all []*change.Change) ([]*change.Change, error) {
	var open []*change.Change
	for _, one := range slices.Backward(all) {
		again := c.Restart && one.Number == c.Number && len(one.RestartsBack()) > 0
		if (one.Open() || again) && (c.Number == 0 || one.Number == c.Number) && (c.Plan == nil || madeBy(*c.Plan, one)) {
			open = append(open, one)
		}
		if one.Number == c.Number && one.Damage != nil {
			return nil, fmt.Errorf("undo change %d: %w", one.Number, one.Damage)
		}
	}
	if c.Number > 0 && !slices.ContainsFunc(all, func(one *change.Change) bool { return one.Number == c.Number }) {
		return nil, hint.With(fmt.Errorf("there is no change %d", c.Number), "plumb history lists them")
	}
	if !c.All && c.Plan == nil && len(open) > 1 {
		open = open[:1]
	}
	return open, nil
}

// madeBy tells whether all that a change did is of a plan: a second run of fix
// does what the first left, so a plan may have made several.
func madeBy(p advise.Plan, c *change.Change) bool {
	return !slices.ContainsFunc(c.Steps, func(did change.Step) bool {
		return !slices.ContainsFunc(p.Steps, func(s advise.Step) bool {
			return s.Knob == did.Knob && s.To.Equal(did.To) && s.From.Equal(did.From) && s.Because == did.Because
		})
	})
}

// NewestDamaged gives the newest change after a number whose journal cannot be
// read, or nil.
func NewestDamaged(all []*change.Change, after int) *change.Change {
	for _, c := range slices.Backward(all) {
		if c.Damage != nil && c.Number > after {
			return c
		}
	}
	return nil
}

// Back is what came of taking changes back.
type Back struct {
	Trail   []Undone
	Changes []*change.Change // as they are now
	err     error
	restart error // why a restart was not done again
}

// TakeBack undoes changes, and does their restarts again when it is asked to:
// once the files are as before, and before what only a running server can take
// back is tried again.
func (u Undo) TakeBack(ctx context.Context, todo ...*change.Change) *Back {
	b := &Back{Changes: slices.Clone(todo)}
	var numbers []int
	for _, c := range todo {
		numbers = append(numbers, c.Number)
	}
	if u.Forget {
		b.forget(ctx, u, numbers)
		return b
	}
	b.round(ctx, u, func(k *change.Executor) error { return k.Undo(ctx, numbers, b.options(u)) })
	if !u.Restart || b.err != nil && !b.onlyWaits() {
		return b
	}
	undone, again := b.err, false
	b.round(ctx, u, func(k *change.Executor) error {
		for _, n := range numbers {
			did, err := k.RestartBack(ctx, n)
			if again = again || did; err != nil {
				b.restart = err
				return errors.Join(undone, err)
			}
		}
		return undone
	})
	if again && b.onlyWaits() {
		b.round(ctx, u, func(k *change.Executor) error { return k.Undo(ctx, numbers, b.options(u)) })
	}
	return b
}

// forget ends changes of which something can never be taken back.
func (b *Back) forget(ctx context.Context, u Undo, numbers []int) {
	b.round(ctx, u, func(k *change.Executor) error {
		for _, n := range numbers {
			if err := k.Forget(ctx, n, b.options(u).Each); err != nil {
				return err
			}
		}
		return nil
	})
}

// round does something with sessions of its own: those to a server that was
// down, or was restarted, are of no more use.
func (b *Back) round(ctx context.Context, u Undo, do func(*change.Executor) error) {
	doer, executor, err := u.Open()
	if err != nil {
		b.err = err
		return
	}
	defer doer.Close()
	b.err = do(executor)
	if all, err := executor.Changes(context.WithoutCancel(ctx)); err == nil {
		b.see(all)
	}
}

// options undo with a trail, in which an act that is tried again stands once.
func (b *Back) options(how Undo) change.UndoOptions {
	return change.UndoOptions{Force: how.Force, Keep: how.Keep, Discard: how.Discard, Unconfirmed: how.unconfirmed, Each: func(c *change.Change, p change.Recorded, err error) {
		u := Undone{Change: c.Number, Past: p, Err: err}
		for i, t := range b.Trail {
			if t.Change == c.Number && t.Past.N == p.N {
				b.Trail[i] = u
				return
			}
		}
		b.Trail = append(b.Trail, u)
	}}
}

// onlyWaits tells whether all that stands in the way are servers that do not answer.
func (b *Back) onlyWaits() bool {
	waits := false
	for _, u := range b.Trail {
		if u.Err == nil {
			continue
		}
		if _, ok := errors.AsType[*change.Waiting](u.Err); !ok {
			return false
		}
		waits = true
	}
	return waits
}

// see takes the changes as they are now.
func (b *Back) see(all []*change.Change) {
	for i, c := range b.Changes {
		for _, now := range all {
			if now.Number == c.Number && now.Damage == nil {
				b.Changes[i] = now
			}
		}
	}
}

// Verdict is the error to end with: where servers are down and the rest was
// taken back, what waits for whom.
func (b *Back) Verdict() error {
	if b.err == nil || b.restart != nil || !b.onlyWaits() {
		return b.err
	}
	var servers, hints []string
	left, why := 0, "which does not answer"
	for _, u := range b.Trail {
		if w, ok := errors.AsType[*change.Waiting](u.Err); ok {
			left++
			servers, hints = append(servers, w.For), append(hints, fmt.Sprintf("%s; plumb undo %d --forget ends a change that can never be undone", w.Hint(), u.Change))
			if w.Answers() {
				why = "which cannot revert it in its present state"
			}
		}
	}
	slices.Sort(servers)
	err := hint.With(fmt.Errorf("%s for %s, %s", waiting(left), strings.Join(slices.Compact(servers), ", "), why), hints[0])
	if left < len(b.Trail) {
		return &Partly{err}
	}
	return err
}

func waiting(acts int) string { return units.Counted(acts, "act", "waits", "wait") }
