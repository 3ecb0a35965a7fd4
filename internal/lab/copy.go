package lab

import (
	"context"
	"time"

	"plumb/internal/host"
)

// copyStands is how long a copy may stand still before it is given up.
const copyStands = 10 * time.Minute

// CopyTree copies a directory with owners, modes, times, extended attributes,
// holes and hard links, for as long as it takes. shared asks for files that
// share their blocks with the old ones, and cp of today would share them by itself
// where it can, so it is told what to do.
//
// It is cp and not a stream of tar, which would read every hole and share no
// block. So its bytes do not come by here: what it reads and writes is asked of the
// kernel, and for files that share blocks, which moves no bytes, it names each one.
func CopyTree(ctx context.Context, do host.Streamer, from, to string, shared bool) error {
	reflink := "--reflink=never"
	if shared {
		reflink = "--reflink=always"
	}
	_, err := do.Pipe(ctx, host.Pipe{
		Argv:     []string{"cp", "-a", "-v", reflink, "--sparse=auto", "--", from, to},
		Progress: copyStands, Works: true,
	})
	return err
}
