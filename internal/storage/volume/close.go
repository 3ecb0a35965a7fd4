package volume

import (
	"context"
	"errors"
	"slices"

	"plumb/internal/inventory"
	"plumb/internal/lab"
)

// removeThings takes things away, the newest first, and stops where it cannot
// go on: a file must not go while a device is on it.
func removeThings(ctx context.Context, b lab.Workspace, things []inventory.Thing) error {
	for _, t := range slices.Backward(things) {
		if err := b.Book.Remove(ctx, t); err != nil {
			return err
		}
	}
	return nil
}

// firstOf gives an error with what else went wrong afterwards.
func firstOf(err, after error) error {
	if after == nil {
		return err // keeps its hint
	}
	return errors.Join(err, after)
}
