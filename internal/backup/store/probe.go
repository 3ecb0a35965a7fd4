package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/dice"
)

// Probes is before the names of the objects with which it is tried what a store does. What stays of them is a
// few bytes under a name of its own.
const Probes = "probe/"

// probe puts an object, has it looked at and removes it.
func probe(ctx context.Context, s Store, look func(name, tag string) error) error {
	var name, tag string
	var err error
	for range 5 { // a store that keeps names in folders may be removing that of another's probe
		name = Probes + dice.Hex(8)
		if tag, err = s.Put(ctx, name, []byte("first"), Put{New: true}); err == nil || ctx.Err() != nil {
			break
		}
	}
	defer func() { _ = s.Delete(context.WithoutCancel(ctx), name) }()
	if err == nil {
		err = look(name, tag)
	}
	if err != nil {
		return fmt.Errorf("try what %s does: %w", s.URL(), err)
	}
	return nil
}

// Conditional finds out whether a store keeps the condition that a manifest is written
// under. Some take the header and ignore it, and answer as if they had not.
func Conditional(ctx context.Context, s Store) (is bool, err error) {
	err = probe(ctx, s, func(name, _ string) error {
		_, err := s.Put(ctx, name, []byte("second"), Put{New: true})
		if is = errors.Is(err, ErrExists); is {
			return nil
		}
		return err
	})
	return is, err
}

// Compares finds out whether a store keeps the condition that an object is replaced under: that it is
// still the one that was read.
func Compares(ctx context.Context, s Store) (is bool, err error) {
	err = probe(ctx, s, func(name, first string) error {
		if _, err := s.Put(ctx, name, []byte("second"), Put{Was: first}); err != nil {
			return err
		}
		_, err := s.Put(ctx, name, []byte("third"), Put{Was: first})
		if is = errors.Is(err, ErrChanged); is {
			return nil
		}
		return err
	})
	return is, err
}

// Clock asks a store what time it is, by the clock that says how old its objects are.
func Clock(ctx context.Context, s Store) (at time.Time, err error) {
	err = probe(ctx, s, func(name, _ string) error {
		return s.List(ctx, name, func(i Info) error {
			at = i.Modified
			return nil
		})
	})
	if err == nil && at.IsZero() {
		err = fmt.Errorf("ask %s for the time: it lists an object without one", s.URL())
	}
	return at, err
}
