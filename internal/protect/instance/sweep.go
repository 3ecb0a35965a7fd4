package instance

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"plumb/internal/inventory"
	"plumb/internal/inventory/kinds"
	"plumb/internal/protect"
)

// Sweep takes away what killed runs left of copies: of those that were to go with the run, and of recovered ones that
// no point has noted. What another run is still at is left alone.
func (m Maker) Sweep(ctx context.Context) error {
	swept, err := kinds.Books(m.Keeper.Do, m.Keeper.Books).SweepThose(ctx, m.mine)
	for _, s := range swept {
		if s.Err != nil && !errors.Is(s.Err, inventory.ErrForeign) {
			err = errors.Join(err, fmt.Errorf("remove what an earlier run left: %w", s.Err))
		}
	}
	return errors.Join(err, m.sweepReady(ctx))
}

// mine tells whether a book is that of a copy, which has the copy's directory in it to the last.
func (m Maker) mine(run string, left []inventory.Entry) bool {
	return len(left) == 0 || slices.ContainsFunc(left, func(e inventory.Entry) bool {
		return e.Thing.Kind == inventory.Tree && e.Thing.Name == path.Join(m.Dir, run)
	})
}

// sweepReady ends what was begun with recovered copies of points.
func (m Maker) sweepReady(ctx context.Context) error {
	books, err := kinds.Books(m.Keeper.Do, m.Keeper.Books).List(ctx)
	failed := []error{err}
	for _, book := range books {
		id := readyOf(book)
		if id == "" {
			continue
		}
		p, err := m.Keeper.Store.Get(ctx, m.Keeper.Do, id)
		switch owner := (protect.Point{ID: id}).ReadyOwner(); {
		case err == nil && p.ID == id && len(p.Ready) > 0:
			failed = append(failed, m.bare(ctx, owner))
		case err == nil && p.ID == id, errors.Is(err, protect.ErrNoPoint):
			failed = append(failed, m.Keeper.Forgo(ctx, owner, nil))
		}
	}
	return errors.Join(failed...)
}

// readyOf gives the point of whose recovered copy the book of a dead run has something; "" for none.
func readyOf(book inventory.Left) string {
	for _, t := range book.All() {
		if id, ready := strings.CutPrefix(ownerOf(t), (protect.Point{}).ReadyOwner()); ready && !book.Live {
			return id
		}
	}
	return ""
}

func ownerOf(t inventory.Thing) string {
	if t.Life == nil {
		return ""
	}
	return t.Life.Owner
}
