package provision

import (
	"context"

	"plumb/internal/change"
	"plumb/internal/host"
)

// Bare refuses a place at which something is to be mounted, unless it is an empty directory: what is in it would be hidden.
func Bare(ctx context.Context, h host.Reader, at string) error {
	st, err := h.Stat(ctx, at)
	if err != nil {
		return err
	}
	if !st.Mode.IsDir() || st.Resolved != at {
		return change.Refuse("name a place whose path has no links", "%s is not a directory, or is a link", at)
	}
	names, err := h.Glob(ctx, host.Verbatim(at)+"/*")
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return change.Refuse("name a place that is empty or does not exist; data are moved there later", "%s is not empty, and would be hidden by what is mounted there", at)
	}
	return nil
}
