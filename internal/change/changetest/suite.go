package changetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/change/draft"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// Case is one knob of a real thing (a server, a scratch directory, a loop
// device) that a setter shall set and undo shall take back.
type Case struct {
	Doer    host.Doer
	Setter  change.Setter
	Catalog *catalog.Catalog
	// Observe reads the things anew, as check would.
	Observe func() *stack.Stack
	Knob    stack.Knob
	To      stack.Value
	// Unsafe allows a value that is less durable.
	Unsafe bool
	// State gives everything that the setter may touch, as one text: the bytes of
	// the files, the server's own answers. Undo must bring back the same.
	State func() string
	// Meddle changes the knob as somebody else would after Plumb did; nil
	// leaves that part out.
	Meddle func()
	// Dir is where the journal is kept: a directory of the test's own.
	Dir string
	// Makes is set when the recipe makes or copies things: what is there cannot be
	// made again, and a change that was killed can be resumed.
	Makes bool
	// Few tries only every n-th pair of deaths, for things that are slow; 0: all.
	Few int
}

// Run runs the whole suite on one case.
func Run(t *testing.T, c Case) {
	t.Helper()
	for _, part := range []struct {
		name string
		run  func(context.Context, Case) error
	}{
		{"recipes only read", onlyReads},
		{"set, set again, undo, undo again", thereAndBack},
		{"a value changed since is not overwritten", drifts},
		{"a death at every operation", dies},
		{"a death at every operation, and then on", resumes},
	} {
		t.Run(part.name, func(t *testing.T) {
			if err := part.run(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// executor makes an executor as a newly started Plumb has it.
func (c Case) executor(d host.Doer) *change.Executor {
	return &change.Executor{Doer: d, Dir: c.Dir, Plumb: "test", Now: time.Now}
}

// draft prepares the one step of the case.
func (c Case) draft(ctx context.Context) (change.Draft, error) {
	d := draft.Maker{Doer: c.Doer, Stack: c.Observe(), Catalog: c.Catalog, Setters: []change.Setter{c.Setter}, Dir: c.Dir}
	if c.Unsafe {
		d.AllowUnsafe = []string{c.Knob.Name}
	}
	draft, err := d.Prepare(ctx, []change.Step{{Knob: c.Knob, To: c.To}})
	switch {
	case err != nil:
		return draft, err
	case len(draft.Steps) != 1:
		return draft, fmt.Errorf("it cannot be set: refused %+v, already %v, missing %v", draft.Refused, draft.Already, draft.Missing)
	}
	return draft, nil
}

// onlyReads prepares with a doer that refuses all that is no reading, but for
// what Prepare itself asks.
func onlyReads(ctx context.Context, c Case) error {
	draft, err := c.draft(ctx)
	if err != nil {
		return err
	}
	r := hosttest.NewRefusing(c.Doer)
	if _, err := c.Setter.Recipe(ctx, r, c.Observe(), draft.Steps[0].Want); err != nil {
		return err
	}
	if tried := r.Attempts(); len(tried) > 0 {
		return fmt.Errorf("its recipe wanted to change something: %v", tried)
	}
	return nil
}

func thereAndBack(ctx context.Context, c Case) error {
	was := c.State()
	draft, err := c.draft(ctx)
	if err != nil {
		return err
	}
	out, err := c.executor(c.Doer).Apply(ctx, draft, change.ApplyOptions{})
	if err != nil {
		return errors.Join(err, c.clear(ctx))
	}
	if len(out.Steps[0].Got) > 0 {
		return errors.Join(fmt.Errorf("another value came of it: %v", out.Steps[0].Got), c.clear(ctx))
	}
	if c.State() == was {
		return fmt.Errorf("nothing has changed: %s", was)
	}
	if err := c.setAgain(ctx, draft); err != nil {
		return errors.Join(err, c.clear(ctx))
	}
	for range 2 {
		if err := c.executor(c.Doer).Undo(ctx, []int{out.Number}, change.UndoOptions{}); err != nil {
			return err
		}
		if err := c.restored(was); err != nil {
			return err
		}
	}
	return nil
}

func (c Case) setAgain(ctx context.Context, draft change.Draft) error {
	if c.Makes {
		return nil
	}
	again, err := c.executor(c.Doer).Apply(ctx, draft, change.ApplyOptions{})
	if err != nil {
		return fmt.Errorf("set again: %w", err)
	}
	if n, err := c.acts(ctx, again.Number); err != nil || n > 0 {
		return errors.Join(fmt.Errorf("setting it again did %d acts", n), err)
	}
	return nil
}

// restored says how the state differs from the one at the start.
func (c Case) restored(was string) error {
	now := c.State()
	if now == was {
		return nil
	}
	return fmt.Errorf("%w: undo left\n%s\nin place of\n%s", errNotRestored, now, was)
}

// acts counts what a change did.
func (c Case) acts(ctx context.Context, number int) (int, error) {
	all, err := c.executor(c.Doer).Changes(ctx)
	if err != nil {
		return 0, err
	}
	for _, one := range all {
		if one.Number == number {
			return len(one.Acts), nil
		}
	}
	return 0, fmt.Errorf("change %d is not in the journal", number)
}

func drifts(ctx context.Context, c Case) error {
	if c.Meddle == nil {
		return nil
	}
	was := c.State()
	draft, err := c.draft(ctx)
	if err != nil {
		return err
	}
	out, err := c.executor(c.Doer).Apply(ctx, draft, change.ApplyOptions{})
	if err != nil {
		return errors.Join(err, c.clear(ctx))
	}
	c.Meddle()
	meddled := c.State()
	err = c.executor(c.Doer).Undo(ctx, []int{out.Number}, change.UndoOptions{})
	if d, ok := errors.AsType[*change.Drifted](err); !ok || len(d.Drifts) == 0 {
		return errors.Join(fmt.Errorf("a value that somebody changed since was overwritten, or: %w", err), c.clear(ctx))
	}
	if now := c.State(); now != meddled {
		return errors.Join(fmt.Errorf("an undo that was refused changed something: %s", now), c.clear(ctx))
	}
	if err := c.executor(c.Doer).Undo(ctx, []int{out.Number}, change.UndoOptions{Force: true}); err != nil {
		return err
	}
	if now := c.State(); now != was {
		return fmt.Errorf("a forced undo left\n%s\nin place of\n%s", now, was)
	}
	return nil
}

// clear undoes whatever is left, by force, so that the next part starts anew.
func (c Case) clear(ctx context.Context) error {
	all, err := c.executor(c.Doer).Changes(ctx)
	if err != nil {
		return err
	}
	var numbers []int
	for _, one := range slices.Backward(all) {
		if one.Open() {
			numbers = append(numbers, one.Number)
		}
	}
	return c.executor(c.Doer).Undo(ctx, numbers, change.UndoOptions{Force: true})
}

func dies(ctx context.Context, c Case) error {
	return deaths(ctx, c, func(d host.Doer) host.Doer { return d })
}

var errNotRestored = errors.New("the starting state was not restored")

// deaths lets the machine die before, after and amid every operation of
// apply, and then of the undo that follows; an undo after that must restore
// the state from which it began. bend is what the executor has before the machine.
func deaths(ctx context.Context, c Case, bend func(host.Doer) host.Doer) error {
	was := c.State()
	tried := 0
	for first := range moments() {
		for second := range moments() {
			if tried++; c.Few > 1 && tried%c.Few != 0 && second.at > 0 {
				second = death{} // only the first death
			}
			ended, undone, err := c.dieTwice(ctx, bend, first, second)
			if err == nil {
				err = c.restored(was)
			}
			if err == nil {
				err = c.forget(ctx)
			}
			if err != nil {
				return fmt.Errorf("apply dies %s, undo dies %s: %w", first, second, err)
			}
			if ended && first.when == torn {
				return nil // apply has fewer operations than that
			}
			if ended || undone && second.when == torn || second.at == 0 {
				break
			}
		}
	}
	return nil
}

// resumes lets the machine die at every operation of apply, and then of going
// on with it: what comes of that must be what an undisturbed apply makes, and be
// undone like it.
func resumes(ctx context.Context, c Case) error {
	if !c.Makes {
		return nil
	}
	was := c.State()
	number, err := c.applyUntilDeath(ctx, c.Doer)
	if err != nil {
		return err
	}
	want := c.State()
	if err := errors.Join(c.executor(c.Doer).Undo(ctx, []int{number}, change.UndoOptions{}), c.restored(was), c.forget(ctx)); err != nil {
		return err
	}
	tried := 0
	for first := range moments() {
		for second := range moments() {
			if tried++; c.Few > 1 && tried%c.Few != 0 && second.at > 0 {
				second = death{}
			}
			ended, resumed, err := c.goOn(ctx, first, second, want)
			if err == nil {
				err = errors.Join(c.restored(was), c.forget(ctx))
			}
			if err != nil {
				return fmt.Errorf("apply dies %s, going on dies %s: %w", first, second, err)
			}
			if ended && first.when == torn {
				return nil
			}
			if ended || resumed && second.when == torn || second.at == 0 {
				break
			}
		}
	}
	return nil
}

// goOn applies until death, goes on until another, goes on to the end, and
// undoes it all.
func (c Case) goOn(ctx context.Context, first, second death, want string) (ended, resumed bool, err error) {
	d := newDying(c.Doer, first)
	number, err := c.applyUntilDeath(ctx, d)
	if err != nil {
		return false, false, err
	}
	all, err := c.executor(c.Doer).Changes(ctx)
	if err != nil || number == 0 || len(all) == 0 {
		return !d.dead.Load(), true, err
	}
	r := newDying(c.Doer, second)
	err = c.executor(r).Resume(ctx, number)
	if err == nil || r.dead.Load() {
		err = c.executor(c.Doer).Resume(ctx, number)
	}
	if _, refused := errors.AsType[*change.Refusal](err); refused && len(all[0].Acts) == 0 {
		err = nil // it died before the plan was written down, and so before anything was done
	} else if err == nil && c.State() != want {
		err = fmt.Errorf("going on made\n%s\nin place of\n%s", c.State(), want)
	}
	if err == nil {
		err = c.executor(c.Doer).Undo(ctx, []int{number}, change.UndoOptions{})
	}
	return !d.dead.Load(), !r.dead.Load(), err
}

// forget removes the journals of changes that are undone, so that reading
// them does not take ever longer.
func (c Case) forget(ctx context.Context) error {
	files, err := c.Doer.Glob(ctx, path.Join(c.Dir, "change-*.journal"))
	for _, f := range files {
		err = errors.Join(err, c.Doer.Remove(ctx, f))
	}
	return err
}

// moments gives all moments at which a machine can die: before, after and
// amid the first operation, the second, and so on without end.
func moments() iter.Seq[death] {
	return func(yield func(death) bool) {
		for at := 1; ; at++ {
			for _, w := range []when{before, after, torn} {
				if !yield(death{at, w}) {
					return
				}
			}
		}
	}
}

// dieTwice lets apply die at one moment and the undo after it at another. A
// last undo, by a Plumb that knows only the journal, ends it. ended tells
// that apply, and undone that undo, had no such moment any more.
func (c Case) dieTwice(ctx context.Context, bend func(host.Doer) host.Doer, first, second death) (ended, undone bool, err error) {
	d := newDying(c.Doer, first)
	number, err := c.applyUntilDeath(ctx, bend(d))
	if err != nil {
		return false, false, err
	}
	all, err := c.executor(c.Doer).Changes(ctx)
	if err != nil || number == 0 || len(all) == 0 || all[len(all)-1].Number != number {
		return !d.dead.Load(), true, err // it died before anything was written down
	}
	u := newDying(c.Doer, second)
	if err := c.executor(u).Undo(ctx, []int{number}, change.UndoOptions{}); err != nil && !u.dead.Load() {
		return false, false, fmt.Errorf("undo: %w", err)
	}
	if err := c.executor(c.Doer).Undo(ctx, []int{number}, change.UndoOptions{}); err != nil {
		return false, false, fmt.Errorf("undo after the second death: %w", err)
	}
	return !d.dead.Load(), !u.dead.Load(), nil
}

// applyUntilDeath gives the number of the change, 0 when none was begun.
func (c Case) applyUntilDeath(ctx context.Context, d host.Doer) (int, error) {
	draft, err := c.draft(ctx)
	if err != nil {
		return 0, err
	}
	out, err := c.executor(d).Apply(ctx, draft, change.ApplyOptions{})
	if err != nil && !errors.Is(err, errDead) {
		return 0, err
	}
	return out.Number, nil
}

// String says when a machine died.
func (d death) String() string {
	if d.at == 0 {
		return "never"
	}
	word := map[when]string{before: "before", after: "after", torn: "amid"}[d.when]
	return fmt.Sprintf("%s operation %d", word, d.at)
}

// Journal gives the path of the journal's directory below a test's own.
func Journal(dir string) string { return path.Join(dir, "plumb") }
