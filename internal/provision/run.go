package provision

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/change"
	"plumb/internal/hint"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Run carries out the stages of one provision, and takes them back. Only the journal says what it has done.
type Run struct {
	Executor *change.Executor
	Of       string       // the provision: the dataset above its others, or its mount point
	Begin    change.Begin // who and where
	Again    string       // what continues a stage that failed, and what takes it back; "": provision does
	Doing    func(stage string, a change.Act, done bool)
	// Anew gives an executor with database sessions of its own, and the function that closes them, because a change that restarts a
	// server breaks its sessions. nil: Executor is used for all changes.
	Anew func() (k *change.Executor, end func() error, err error)
}

// each calls do with an executor that is good for one more change.
func (r Run) each(do func(*change.Executor) error) error {
	if r.Anew == nil {
		return do(r.Executor)
	}
	k, end, err := r.Anew()
	if err != nil {
		return err
	}
	return errors.Join(do(k), end())
}

// Knob is the name of what a stage changes, in journals.
const Knob = "provision"

// Step makes the step of a stage that sets no knob: its acts are done and undone together.
func Step(of stack.Ref, name string, acts []change.Act) change.Prepared {
	return change.Prepared{Step: change.Step{Knob: stack.Knob{Of: of, Name: Knob}, To: stack.Text(name), Because: "asked for by the spec"}, Recipe: change.Recipe{Acts: acts}}
}

// ForData marks a stage that moves or replaces all data of its server. Of several such stages the last must be undone first.
func (s *Stage) ForData() {
	for i := range s.Steps {
		s.Steps[i].Data = true
	}
}

// of is what the journal says that the changes are stages of.
func (r Run) of() string { return Knob + " " + r.Of }

// Stage does one stage, as one change of the journal.
func (r Run) Stage(ctx context.Context, s Stage) (change.Outcome, error) {
	o := change.ApplyOptions{Begin: r.Begin, Restart: s.Restart}
	o.Begin.Of = r.of()
	if r.Doing != nil {
		o.Doing = func(_ int, a change.Act, done bool) { r.Doing(s.Name, a, done) }
	}
	if s.Proof != nil {
		o.Proof = func(ctx context.Context) error { return s.Proof(ctx, r.Executor.Doer) }
	}
	out, err := r.Executor.Apply(ctx, change.Draft{Steps: s.Steps}, o)
	if err != nil && out.Number > 0 {
		err = hint.With(fmt.Errorf("%s (change %d): %w%s", s.Name, out.Number, err, became(out)),
			cmp.Or(r.Again, "plumb provision again continues from there; --undo reverts all of it")+", plumb history "+strconv.Itoa(out.Number)+" shows each act")
	} else if err != nil {
		err = fmt.Errorf("%s: %w", s.Name, err)
	}
	return out, err
}

// became says whether what a stage did before it failed was undone. If it was not, a server may be stopped.
func became(o change.Outcome) (said string) {
	for _, s := range o.Steps {
		switch {
		case strings.HasPrefix(s.Back, "could not"):
			return "; what it did before " + s.Back
		case strings.HasPrefix(s.Back, change.TakenBack):
			said = "; what it did before is " + s.Back
		}
	}
	return said
}

// Stages gives the changes of this provision that are in force, the oldest first. It is an error if a journal is damaged that may be
// one of them.
func (r Run) Stages(ctx context.Context) (all []*change.Change, err error) {
	every, err := r.Executor.Changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range every {
		if c.Damage != nil {
			return nil, hint.With(fmt.Errorf("read change %d, which may be of this provision: %w", c.Number, c.Damage), "move the file away once you know what that change did: plumb history lists it")
		}
		if c.Of == r.of() && c.Open() {
			all = append(all, c)
		}
	}
	return all, nil
}

// GoOn completes the changes that an earlier run began and did not end. A change that cannot be resumed is undone, and the next plan
// does it again. ended is the number of changes that it completed or undid.
func (r Run) GoOn(ctx context.Context) (ended int, err error) {
	all, err := r.Stages(ctx)
	if err != nil {
		return 0, err
	}
	for _, c := range slices.Backward(all) {
		if !Torn(c) {
			continue
		}
		ended++
		err = r.each(func(k *change.Executor) error {
			if undoing(c) || c.Version < change.Form {
				return k.Undo(ctx, []int{c.Number}, change.UndoOptions{})
			}
			return k.Resume(ctx, c.Number)
		})
		if err != nil {
			if err = fmt.Errorf("continue change %d: %w", c.Number, err); hint.Of(err) == "" {
				err = hint.With(err, fmt.Sprintf("plumb undo %d reverts it", c.Number))
			}
			return ended, err
		}
	}
	return ended, nil
}

// Torn tells whether a change was interrupted: between two acts, or in one, so that it is not known whether that was done.
func Torn(c *change.Change) bool {
	return !c.Ended || slices.ContainsFunc(c.Acts, func(a change.Recorded) bool {
		return a.State == change.Begun || a.State == change.Failed || a.State == change.Undoing
	})
}

func undoing(c *change.Change) bool {
	return slices.ContainsFunc(c.Acts, func(a change.Recorded) bool {
		return a.State == change.Undoing || a.State == change.Undone || a.State == change.Left
	})
}

// TakeAway undoes the stages of the provision, the last first, from the journal alone. It stops at the first that cannot be undone,
// because that may rest on the earlier ones.
func (r Run) TakeAway(ctx context.Context, o change.UndoOptions) (undone []*change.Change, err error) {
	all, err := r.Stages(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range slices.Backward(all) {
		if err := r.each(func(k *change.Executor) error { return k.Undo(ctx, []int{c.Number}, o) }); err != nil {
			left := "nothing was undone before it"
			if len(undone) > 0 {
				left = units.Counted(len(undone), "later stage", "is", "are") + " undone"
			}
			if err = fmt.Errorf("undo change %d (%s): %w", c.Number, left, err); hint.Of(err) == "" {
				err = hint.With(err, fmt.Sprintf("fix that, and --undo again continues; plumb history %d shows each act", c.Number))
			}
			return undone, err
		}
		undone = append(undone, c)
	}
	return undone, nil
}

// ErrStands says that a stage was carried out, and that the host is still not as the plan wants it.
var ErrStands = errors.New("it was carried out, but the host is not as planned")
