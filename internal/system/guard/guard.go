package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"plumb/internal/change"
	"plumb/internal/edit"
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
		if e := a.Edit; e != nil {
			text, err := h.ReadFile(ctx, e.File)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("see what %s says: %w", e.File, err)
			}
			if value, set, err := edit.Get(e.Form, text, e.Key); err == nil && set && value == e.Value {
				continue
			}
		}
		left = append(left, a)
	}
	return left, nil
}
