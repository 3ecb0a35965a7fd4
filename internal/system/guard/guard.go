package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plumb/internal/host"
)

// has tells whether a file is there.
func has(ctx context.Context, h host.Reader, name string) (bool, error) {
	_, err := h.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for %s: %w", name, err)
	}
	return true, nil
}
