package inventory

import (
	"context"
	"path"
	"strings"

	"plumb/internal/host"
)

// OfCopy tells of the file that configures a server whether it lies in a directory that Plumb made for a copy of one, under run
// and that name. A copy must not take the name of a server of this host, which is known by it.
func OfCopy(ctx context.Context, h host.Reader, file, name string) bool {
	dir, is := strings.CutSuffix(file, "/run/"+name)
	if !is || !path.IsAbs(dir) {
		return false
	}
	st, err := h.Stat(ctx, path.Join(dir, Marker))
	return err == nil && st.Mode.IsRegular()
}
