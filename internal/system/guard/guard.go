package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plumb/internal/change"
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

// toDo leaves out the edits whose value stands in its file.
func toDo(ctx context.Context, h host.Reader, acts []change.Act) (left []change.Act, err error) {
	for _, a := range acts {
		if a.Edit != nil {
			if there, err := a.Edit.Stands(ctx, h); err != nil {
				return nil, err
			} else if there {
				continue
			}
		}
		left = append(left, a)
	}
	return left, nil
}
