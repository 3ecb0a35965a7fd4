package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"plumb/internal/change"
	"plumb/internal/hint"
	fixview "plumb/internal/view/fix"
)

// back is what came of taking changes back.
type back struct {
	trail   []fixview.Undone
	changes []*change.Change // as they are now
	err     error
	restart error // why a restart was not done again
}

// takeBack undoes changes, and does their restarts again when it is asked to:
// once the files are as before, and before what only a running server can take
// back is tried again.
func (f undoFlags) takeBack(ctx context.Context, numbers []int) *back {
	b := &back{}
	b.round(ctx, f, func(k *change.Keeper) error { return k.Undo(ctx, numbers, b.options(f)) })
	if !f.restart || b.err != nil && !b.onlyWaits() {
		return b
	}
	undone, again := b.err, false
	b.round(ctx, f, func(k *change.Keeper) error {
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
		b.round(ctx, f, func(k *change.Keeper) error { return k.Undo(ctx, numbers, b.options(f)) })
	}
	return b
}

// round does something with sessions of its own: those to a server that was
// down, or was restarted, are of no more use.
func (b *back) round(ctx context.Context, f undoFlags, do func(*change.Keeper) error) {
	hands, keeper, err := f.open()
	if err != nil {
		b.err = err
		return
	}
	defer hands.Close()
	b.err = do(keeper)
	if all, err := keeper.Changes(context.WithoutCancel(ctx)); err == nil {
		b.changes = all
	}
}

// options undo with a trail, in which an act that is tried again stands once.
func (b *back) options(f undoFlags) change.UndoOptions {
	return change.UndoOptions{Force: f.force, Keep: f.keep, Each: func(c *change.Change, p change.Past, err error) {
		u := fixview.Undone{Change: c.Number, Past: p, Err: err}
		for i, t := range b.trail {
			if t.Change == c.Number && t.Past.N == p.N {
				b.trail[i] = u
				return
			}
		}
		b.trail = append(b.trail, u)
	}}
}

// onlyWaits tells whether all that stands in the way are servers that do not answer.
func (b *back) onlyWaits() bool {
	waits := false
	for _, u := range b.trail {
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

// seen gives the changes that were to be undone, as they are now.
func (b *back) seen(todo []*change.Change) []*change.Change {
	for i, c := range todo {
		for _, now := range b.changes {
			if now.Number == c.Number && now.Damage == nil {
				todo[i] = now
			}
		}
	}
	return todo
}

// verdict is the error to end with: where servers are down and the rest was
// taken back, what waits for whom.
func (b *back) verdict() error {
	if b.err == nil || b.restart != nil || !b.onlyWaits() {
		return b.err
	}
	var servers, hints []string
	left := 0
	for _, u := range b.trail {
		if w, ok := errors.AsType[*change.Waiting](u.Err); ok {
			left++
			servers, hints = append(servers, w.For), append(hints, w.Hint())
		}
	}
	slices.Sort(servers)
	err := hint.With(fmt.Errorf("%s for %s, which does not answer", countText(left, "act")+wait(left), strings.Join(slices.Compact(servers), ", ")), hints[0])
	if left < len(b.trail) {
		return &partly{err}
	}
	return err
}

func wait(n int) string {
	if n == 1 {
		return " waits"
	}
	return " wait"
}

// undoTime is how long an undo by the dead man's switch goes on trying.
const undoTime = 10 * time.Minute

// undoUnlessConfirmed is the dead man's switch: it waits for the time of
// --try, and then undoes what nobody has confirmed, with the restarts that came
// with it. What stands in its way (a fix that still runs, a server that does
// not start) it waits for, longer each time.
func (f undoFlags) undoUnlessConfirmed(ctx context.Context) error {
	f.restart, f.keep = true, true // what somebody changed meanwhile is not ours to overwrite
	wait := time.Second
	for began := time.Now(); ; {
		c, err := f.mine(ctx)
		if err == nil {
			if c == nil || c.Confirmed || c.Damage != nil || c.Ended && !c.Open() && len(c.RestartsBack()) == 0 {
				return nil
			}
			if left := time.Until(c.Try); left > 0 {
				began = time.Now()
				if err := pause(ctx, min(left, time.Second)); err != nil {
					return err
				}
				continue
			}
			if err = f.takeBack(ctx, []int{f.number}).err; err == nil {
				return nil
			}
		}
		if time.Since(began) > undoTime {
			return err
		}
		if err := pause(ctx, wait); err != nil {
			return err
		}
		wait = min(2*wait, time.Minute)
	}
}

// mine reads the one change.
func (f undoFlags) mine(ctx context.Context) (*change.Change, error) {
	hands, keeper, err := f.open()
	if err != nil {
		return nil, err
	}
	defer hands.Close()
	all, err := keeper.Changes(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Number == f.number {
			return c, nil
		}
	}
	return nil, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
