package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/protect"
	"plumb/internal/units"
)

// ErrFull says that a copy's server had no room to write, which says nothing of the point.
var ErrFull = errors.New("its storage is full")

// full adds to the error of a copy that its server found no room, as servers say it: ENOSPC or EDQUOT, in words or by number, or
// PostgreSQL of a write that was cut short, which it counts as a full disk (md.c). Its hint to check free space says nothing: it comes
// with any error of a write.
func full(err error) error {
	if err == nil || errors.Is(err, ErrFull) {
		return err
	}
	said := func(mark string) bool { return strings.Contains(err.Error(), mark) }
	if !slices.ContainsFunc([]string{"No space left on device", "Disk quota exceeded", "rror number 28", "rror number 122", ": wrote only "}, said) {
		return err
	}
	return hint.With(fmt.Errorf("%w (%w)", err, ErrFull), "a copy needs room for what its recovery writes: plumb prune makes some, or raise the quota")
}

// leastFree is the part of a storage that must be free for a copy. A copy is wanted most when something went wrong, so it is less
// than a new point needs.
const leastFree = 0.02

// roomy is an error where what a copy writes could take the last room from the server that it is a copy of.
func (m Maker) roomy(ctx context.Context, members []protect.Member) error {
	for _, one := range members {
		s, err := m.Keeper.StorageOf(one.Volume)
		if err != nil {
			return err
		}
		of, shares := s.(protect.Sharer)
		if !shares {
			continue
		}
		free, err := of.Free(ctx, m.Keeper.Do, one)
		if err != nil {
			return fmt.Errorf("look how much room a copy of %s would have: %w", one.Snapshot, err)
		}
		if free < leastFree {
			return hint.With(fmt.Errorf("only %s of the storage that a copy of %s would write to is free, and the original server needs that", units.Percent(free), one.Snapshot),
				"plumb prune makes room; plumb clone --browse shows the files of a point without a server")
		}
	}
	return nil
}
