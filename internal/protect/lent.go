package protect

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"plumb/internal/host"
)

// lentEnd ends the name of a lock file beside a lent point's own file. A lent point lasts no longer than the process that took
// it: that process keeps the lock, and once nobody has it the point may be destroyed.
const lentEnd = ".lent"

// loan is the lock that this process keeps on a point it was lent.
type loan struct {
	file   string
	unlock func()
}

// begin takes the lock for a new point. It must do so before the point is written down, so that no sweep sees the point without it.
func (l *loan) begin(ctx context.Context, k *Keeper, id string) error {
	l.file = path.Join(k.Store.Dir, id+lentEnd)
	unlock, err := k.Do.Lock(ctx, l.file)
	if err == nil {
		l.unlock = unlock
	}
	return err
}

// TakeLent is Take for a point that lasts no longer than this process. The caller must call giveBack, which destroys the point. If
// this process is killed first, the next run that takes or sweeps points destroys it.
func (k *Keeper) TakeLent(ctx context.Context, plan Plan, o TakeOptions) (p Point, giveBack func(context.Context) error, err error) {
	o.lent = &loan{unlock: func() {}}
	p, err = k.Take(ctx, plan, o)
	return p, func(ctx context.Context) error { return k.giveBack(ctx, o.lent) }, err
}

func (k *Keeper) giveBack(ctx context.Context, l *loan) error {
	l.unlock()
	if l.file == "" {
		return nil
	}
	unlock, err := k.Store.lockSoon(ctx, k.Do)
	if err != nil {
		return err
	}
	defer unlock()
	return k.endLoan(ctx, l.file)
}

// sweepLent destroys the points that were lent to processes which have ended. One that fails does not keep it from the others.
func (k *Keeper) sweepLent(ctx context.Context) error {
	files, err := k.Do.Glob(ctx, path.Join(host.Verbatim(k.Store.Dir), "*"+lentEnd))
	failed := []error{err}
	for _, file := range files {
		failed = append(failed, k.endLoan(ctx, file))
	}
	return errors.Join(failed...)
}

// endLoan destroys a lent point, unless the process it was lent to is still running.
func (k *Keeper) endLoan(ctx context.Context, file string) error {
	unlock, err := k.Do.Lock(ctx, file)
	if errors.Is(err, host.ErrLocked) {
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	id := strings.TrimSuffix(path.Base(file), lentEnd)
	p, err := k.Store.Get(ctx, k.Do, id)
	if err == nil && p.ID == id {
		err = k.destroyAny(ctx, p, "it was lent, and its process has ended")
	}
	if err != nil && !errors.Is(err, ErrNoPoint) {
		return fmt.Errorf("take away a point that was lent: %w", err)
	}
	return k.Do.Remove(ctx, file)
}
