package observe

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"plumb/internal/host"
)

// Stored is how many bytes the files below a directory take on their filesystem, without what is mounted there. A server may
// make and remove some meanwhile.
func Stored(ctx context.Context, h host.Reader, dir string) (int64, error) {
	text, err := h.Output(ctx, "find", dir, "-xdev", "-ignore_readdir_race", "-type", "f", "-printf", `%b\n`)
	if err != nil {
		return 0, fmt.Errorf("measure the size of %s: %w", dir, err)
	}
	const unit = 512 // of find's blocks
	var blocks int64
	for line := range strings.Lines(string(text)) {
		n, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("measure the size of %s: find says %q", dir, strings.TrimSpace(line))
		}
		blocks += n
	}
	return blocks * unit, nil
}
