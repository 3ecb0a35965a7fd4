package inventory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"plumb/internal/hint"
)

// Adopt takes a thing that is there into the inventory, as one that is meant to
// live. Its proof is what a book of a dead run has of it, what it says itself,
// or what the caller names: t.Proof is checked against the thing, and completed.
func (b Books) Adopt(ctx context.Context, t Thing) error {
	kind := b.Kinds[t.Kind]
	if kind.Adopt == nil {
		return fmt.Errorf("adopt %s %s: things of this kind are not adopted", t.Kind, t.Name)
	}
	booked, err := b.proofOf(ctx, t)
	if err != nil {
		return fmt.Errorf("adopt %s %s: %w", t.Kind, t.Name, err)
	}
	given := maps.Clone(t.Proof)
	t.Proof = maps.Clone(booked)
	if t.Proof == nil {
		t.Proof = map[string]string{}
	}
	maps.DeleteFunc(given, func(_, value string) bool { return value == "" })
	maps.Copy(t.Proof, given)
	if err := kind.Adopt(ctx, b.Do, &t); err != nil {
		return fmt.Errorf("adopt %s %s: %w", t.Kind, t.Name, err)
	}
	if err := b.adopt(ctx, t); err != nil || booked == nil {
		return err
	}
	// The line of the run goes last: killed before it, a sweep finds that the thing lives.
	return b.withOne(ctx, t.Kind, t.Name, func(ctx context.Context, _ *pages, e Entry, _ living, note noting) error {
		if e.lives() {
			return nil
		}
		return note(ctx, kindLeft, result{N: e.N, Why: "it was adopted"})
	})
}

// adopt writes the book of one adopted thing, in one line: of an intent
// without its end, a sweep would take the thing away.
func (b Books) adopt(ctx context.Context, t Thing) error {
	book, err := b.Open(ctx, fmt.Sprintf("adopted-%x", time.Now().UnixNano()))
	if err != nil {
		return err
	}
	defer book.unlock()
	if err := book.note(ctx, kindAdopted, t); err != nil {
		return errors.Join(err, b.Do.Remove(context.WithoutCancel(ctx), book.file))
	}
	return nil
}

// proofOf gives the proof that a book of a dead run has of a thing; nil when
// none has it. What lives already is an error.
func (b Books) proofOf(ctx context.Context, t Thing) (proof map[string]string, err error) {
	all, err := b.List(ctx)
	if err != nil {
		return nil, err
	}
	for _, l := range all {
		for _, e := range l.Living {
			if e.Thing.Kind == t.Kind && e.Thing.Name == t.Name {
				return nil, hint.With(fmt.Errorf("it is in the inventory since %s", e.Thing.Life.Since.UTC().Format("2006-01-02")), "plumb inventory lists it; forget it first to adopt it again")
			}
		}
		for _, had := range l.Things {
			switch {
			case had.Kind != t.Kind || had.Name != t.Name:
			case l.Live:
				return nil, ErrLive
			default:
				proof = had.Proof
				if proof == nil {
					proof = map[string]string{}
				}
				proof["run"] = l.Run
			}
		}
	}
	return proof, nil
}
