package guard

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
)

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
