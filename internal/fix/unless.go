package fix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/inventory"
)

// undoTime is how long an undo by the dead man's switch goes on trying.
const undoTime = 10 * time.Minute

// UnlessConfirmed is the dead man's switch: it waits for the time of
// --try, and then undoes what nobody has confirmed, with the restarts that came
// with it. What stands in its way (a server that does not start) it waits for,
// longer each time, and for whoever is changing this host until that has ended.
func (u Undo) UnlessConfirmed(ctx context.Context, number int) error {
	return u.WhenEnded(ctx, number, nil)
}

// Heir is the dead man's switch of a loan: it says that it is ready, and undoes the change when
// its input ends, because who made it is gone, or when its time is over.
func (u Undo) Heir(ctx context.Context, number int, in io.Reader, out io.Writer) error {
	ctx = context.WithoutCancel(ctx) // signals are for the other
	c, err := u.mine(ctx, number)
	switch {
	case err != nil:
		return err
	case c == nil || c.Loan == "":
		return fmt.Errorf("change %d is not a loan", number)
	}
	ended := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, in) // however it ends
		close(ended)
	}()
	if _, err := io.WriteString(out, "armed\n"); err != nil {
		return err
	}
	return u.WhenEnded(ctx, number, ended)
}

// Stranded gives back what earlier boots left of loans.
func (u Undo) Stranded(ctx context.Context) error {
	doer, executor, err := u.Open()
	if err != nil {
		return err
	}
	boot := inventory.Boot(ctx, doer)
	all, err := executor.Changes(ctx)
	if err = errors.Join(err, doer.Close()); err == nil && boot == "" {
		err = errors.New("the boot ID cannot be read")
	}
	if err != nil {
		return err
	}
	var failed []error
	gone := make(chan struct{})
	close(gone)
	for _, c := range slices.Backward(all) {
		if c.Stranded(boot) {
			failed = append(failed, u.WhenEnded(ctx, c.Number, gone))
		}
	}
	return errors.Join(failed...)
}

// WhenEnded is UnlessConfirmed for a loan: it waits no longer than until ended is
// closed, because who made it is gone.
func (u Undo) WhenEnded(ctx context.Context, number int, ended <-chan struct{}) error {
	u.unconfirmed, u.Restart, u.Keep = true, true, true // what somebody changed meanwhile is not ours to overwrite
	wait := time.Second
	start := time.Now()
	for began := start; ; {
		c, err := u.mine(ctx, number)
		if err == nil {
			if c != nil && c.Damage != nil {
				return fmt.Errorf("undo change %d: %w", number, c.Damage)
			}
			if c == nil || c.Confirmed || c.Ended && !c.Open() && len(c.RestartsBack()) == 0 {
				return nil
			}
			// Whoever sets the clock back does not put the end off: it is no longer away than the trial is long.
			if left := min(time.Until(c.Try), c.Try.Sub(c.At)-time.Since(start)); left > 0 && !isClosed(ended) {
				began = time.Now()
				if err := pause(ctx, min(left, time.Second), ended); err != nil {
					return err
				}
				continue
			}
			if err = u.TakeBack(ctx, c).err; err == nil {
				return nil
			}
		}
		if errors.Is(err, host.ErrLocked) {
			began = time.Now() // whoever is at work here ends one day, and nobody else undoes this
		} else if time.Since(began) > cmp.Or(u.patience, undoTime) {
			return err
		}
		if err := pause(ctx, wait, nil); err != nil {
			return err
		}
		wait = min(2*wait, time.Minute)
	}
}

// all reads the journals.
func (u Undo) all(ctx context.Context) ([]*change.Change, error) {
	doer, executor, err := u.Open()
	if err != nil {
		return nil, err
	}
	defer doer.Close()
	return executor.Changes(ctx)
}

// mine reads the one change.
func (u Undo) mine(ctx context.Context, number int) (*change.Change, error) {
	all, err := u.all(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range all {
		if c.Number == number {
			return c, nil
		}
	}
	return nil, nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default: // also of nil
		return false
	}
}

// pause waits for a time, or until something has ended.
func pause(ctx context.Context, d time.Duration, ended <-chan struct{}) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-ended:
		return nil
	case <-time.After(d):
		return nil
	}
}
