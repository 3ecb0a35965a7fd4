package volume

import (
	"context"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/inventory/kinds"
)

// lift takes away limits that were in force for a device's number before the
// device was ours: the kernel keeps them when a loop device is detached, and the
// next one with that number would be held back by what its profile does not
// say. They are not put back: nothing is behind a number that was free.
func lift(ctx context.Context, h host.Doer, run, device string) error {
	g, err := findGate(ctx, h, run)
	if err != nil {
		return nil // where nothing can be limited, nothing is
	}
	for _, n := range g.lines(device, paces{1, 1, 1, 1}) {
		text, err := h.ReadFile(ctx, n.file)
		if _, left := kinds.LimitOf(string(text), device); left {
			err = h.Write(ctx, n.file, []byte(n.undo))
		}
		if err != nil {
			return fmt.Errorf("take away a limit that was left on the device %s: %w", device, err)
		}
	}
	return nil
}
