package protect

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plumb/internal/host"
)

// A point that is lent goes with the process that took it. Beside its file is another, on which that process
// has a lock: when nobody has it any more, the point is taken away.
const lentEnd = ".lent"

// loan is a point that goes with this process.
type loan struct {
	file   string
	unlock func()
}

// begin makes the point of a name such a one, before anything of it is written down.
func (l *loan) begin(ctx context.Context, k *Keeper, id string) error {
	l.file = path.Join(k.Store.Dir, id+lentEnd)
	unlock, err := k.Do.Lock(ctx, l.file)
	if err == nil {
		l.unlock = unlock
	}
	return err
}

// TakeLent is Take for a point that goes with this process. giveBack takes it away, and must be called; when this
// process is killed before, the next run that takes or sweeps points does so.
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
	return k.takeLent(ctx, l.file)
}

// sweepLent takes away the points whose process has ended. Each fails alone.
func (k *Keeper) sweepLent(ctx context.Context) error {
	files, err := k.Do.Glob(ctx, path.Join(host.Verbatim(k.Store.Dir), "*"+lentEnd))
	failed := []error{err}
	for _, file := range files {
		failed = append(failed, k.takeLent(ctx, file))
	}
	return errors.Join(failed...)
}

// takeLent takes a point away unless its process is still there.
func (k *Keeper) takeLent(ctx context.Context, file string) error {
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
		err = k.begun(ctx, p, "it was lent, and its process has ended")
	}
	if err != nil && !errors.Is(err, ErrNoPoint) {
		return fmt.Errorf("take away a point that was lent: %w", err)
	}
	if err := k.Do.Remove(ctx, file); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
