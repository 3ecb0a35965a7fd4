package provision

import (
	"context"
	"io/fs"
	"path"

	"plumb/internal/change"
	"plumb/internal/host"
)

// RootsAlone refuses a directory in which, or above which, another user could put something else in the place of what is made
// there: a link would lead root anywhere. In a sticky directory such as /tmp nobody can.
func RootsAlone(ctx context.Context, h host.Reader, dir string) error {
	for ; ; dir = path.Dir(dir) {
		st, err := h.Stat(ctx, dir)
		if err != nil {
			return err
		}
		if how := st.Changeable(); how != "" && (st.UID != 0 || st.Mode&fs.ModeSticky == 0) {
			return change.Refuse("name a place in a directory that is root's alone", "the directory %s %s, who could put a link in it", dir, how)
		}
		if dir == "/" {
			return nil
		}
	}
}

// Bare refuses a place at which something is to be mounted, unless it is an empty directory: what is in it would be hidden.
func Bare(ctx context.Context, h host.Reader, at string) error {
	st, err := h.Stat(ctx, at)
	if err != nil {
		return err
	}
	if !st.Mode.IsDir() || st.Resolved != at {
		return change.Refuse("name a place without links", "%s is no directory, or a link", at)
	}
	names, err := h.Glob(ctx, host.Verbatim(at)+"/*")
	if err != nil {
		return err
	}
	if len(names) > 0 {
		return change.Refuse("name a place that is empty or not there; data that are there are moved later", "%s is not empty, and would be hidden by what is mounted there", at)
	}
	return nil
}
