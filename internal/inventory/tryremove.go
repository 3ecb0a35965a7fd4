package inventory

import (
	"cmp"
	"context"
	"fmt"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// TryRemove checks the proof of a thing as RemoveOne does, and says what
// would be done first; "" when the thing is gone and only its line would go.
// It changes nothing.
func (b Books) TryRemove(ctx context.Context, kind, name string) (first string, err error) {
	err = b.withOne(ctx, kind, name, func(ctx context.Context, p *pages, e Entry, others living, _ noting) error {
		if at, ok := others.within(e.Thing); ok {
			return inTheWay(e.Thing, at)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		h := p.holder(&host.Refusing{Reader: b.Do, Doer: b.Do, Refused: func(what string) {
			first = cmp.Or(first, what)
			cancel() // nobody tries a second time
		}}, false)
		err := b.Kinds.takeAway(ctx, h, e)
		if first != "" {
			err = nil
		}
		return err
	})
	return first, err
}

func inTheWay(t, at Thing) error {
	return hint.With(fmt.Errorf("remove %s %s: %s %s is in it and to be kept", t.Kind, t.Name, at.Kind, at.Name), "plumb inventory remove "+at.Kind+" "+at.Name+" comes first")
}
