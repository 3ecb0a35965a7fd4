// Package await waits for what others do, and for nothing without an end.
package await

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"plumb/internal/units"
)

// Pause waits; with the context it ends early, in its error.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return ctx.Err()
	}
}

// step is the pause between two looks.
const step = 50 * time.Millisecond

var errStill = errors.New("it is still there")

// Until tries f until it says that it is done, which can be an error, or the time is up, which gives the last error.
func Until(ctx context.Context, within time.Duration, f func() (done bool, err error)) error {
	late := time.Now().Add(within)
	for {
		done, err := f()
		if done {
			return err
		}
		if !time.Now().Before(late) {
			if err == nil {
				err = errStill
			}
			return err
		}
		if Pause(ctx, step) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// WhileBusy tries f for as long as it fails because something is busy, and gives any other error at once. Somebody who was just leaving, or
// only looked, keeps a filesystem busy for a moment.
func WhileBusy(ctx context.Context, within time.Duration, f func() error) error {
	return Until(ctx, within, func() (bool, error) {
		err := f()
		return !Busy(err), err
	})
}

// inUse is how commands say that something is busy: "target is busy", "dataset is busy", "Device or resource busy". The word alone does
// not tell, because what they are about can be called so.
var inUse = regexp.MustCompile(`\b(?:is|resource) busy\b`)

// Busy tells whether a command failed because something is busy.
func Busy(err error) bool { return err != nil && inUse.MatchString(err.Error()) }

// Program is one that was started.
type Program interface {
	Done() <-chan struct{} // closed when it has ended
	Err() error            // tells how, after Done
}

// Answer waits until a program answers: ask gives nil then. One that has ended never will.
func Answer(ctx context.Context, p Program, within time.Duration, ask func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		err := ask(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.Done():
			if err := p.Err(); err != nil {
				return err
			}
			return errors.New("it ended at once")
		case <-ctx.Done():
			return fmt.Errorf("no answer within %s: %w", units.Span(within), err)
		case <-time.After(step):
		}
	}
}

// End asks a program to end, and waits until it has. How it ended is no error here.
func End(ctx context.Context, p Program, within time.Duration, ask func() error) error {
	if err := ask(); err != nil {
		return err
	}
	select {
	case <-p.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(within):
		return fmt.Errorf("it had not ended %s after it was asked to", units.Span(within))
	}
}
