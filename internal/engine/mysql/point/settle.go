package point

import (
	"context"
	"fmt"
	"path"

	"plumb/internal/host"
	"plumb/internal/protect"
)

// Purge removes the binary logs that the source wrote from a copy that was stopped in an
// orderly way: they hold what a mask removed. The next start begins a new log.
func (*Engine) Purge(ctx context.Context, d host.Streamer, c protect.Copy) error {
	n := &neutral{ctx: ctx, d: d, o: ownerOf(d, c.Server), c: c}
	if err := n.whole(); err != nil {
		return fmt.Errorf("remove the binary logs of a copy of %s: %w", c.Server.Ref, err)
	}
	if !n.logs {
		return nil
	}
	base := c.In(n.setting("log_bin_basename"))
	all, err := n.o.find(ctx, []string{path.Dir(base)}, "-maxdepth", "1", "-type", "f")
	if err != nil {
		return fmt.Errorf("remove the binary logs of a copy of %s: %w", c.Server.Ref, err)
	}
	gone := []string{n.indexFile()}
	for _, e := range all {
		if isLog(e.path, base) || e.path == base+".state" || path.Ext(e.path) == ".idx" && isLog(e.path[:len(e.path)-len(".idx")], base) {
			gone = append(gone, e.path)
		}
	}
	if err := n.o.remove(ctx, gone); err != nil {
		return fmt.Errorf("remove the binary logs of a copy of %s: %w", c.Server.Ref, err)
	}
	return nil
}
