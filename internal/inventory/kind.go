package inventory

import (
	"context"
	"fmt"

	"plumb/internal/host"
)

// Kind is how things of one kind are handled.
type Kind struct {
	Free  func(ctx context.Context, d host.Doer, t Thing) error  // whether the name is free; optional
	Prove func(ctx context.Context, d host.Doer, t *Thing) error // completes the proof of what was just made; optional

	// Adopt checks the proof of a thing that is there already, and completes it;
	// nil where things of the kind are not adopted.
	Adopt func(ctx context.Context, d host.Doer, t *Thing) error

	// Remove checks the proof immediately before it removes. It gives nil when
	// there is nothing of that name, and ErrForeign when there is and it is not ours.
	Remove func(ctx context.Context, h Holder, e Entry) error
}

// Kinds are the kinds that can be made and removed, by name.
type Kinds map[string]Kind

// Holder is what a removal may know of the book that holds the thing.
type Holder struct {
	Do      host.Doer
	Run     string  // that made the things
	Boot    string  // in which life of the kernel; "" when unknown
	Entries []Entry // all of the book
	Live    bool    // the run that made them does it: nobody else was here since
}

func (p *pages) holder(d host.Doer, live bool) Holder {
	return Holder{Do: d, Run: p.begin.Run, Boot: p.begin.Boot, Entries: p.entries, Live: live}
}

// takeAway takes one thing away, whether its making ended or not.
func (k Kinds) takeAway(ctx context.Context, h Holder, e Entry) error {
	kind, ok := k[e.Thing.Kind]
	if !ok {
		return fmt.Errorf("take %s %s away: a later Plumb made it: this one knows no such kind", e.Thing.Kind, e.Thing.Name)
	}
	if err := kind.Remove(ctx, h, e); err != nil {
		return fmt.Errorf("take %s %s away: %w", e.Thing.Kind, e.Thing.Name, err)
	}
	return nil
}

func (k Kinds) prove(ctx context.Context, d host.Doer, t *Thing) error {
	if prove := k[t.Kind].Prove; prove != nil {
		return prove(ctx, d, t)
	}
	return nil
}
