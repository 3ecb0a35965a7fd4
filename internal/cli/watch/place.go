package watch

import (
	"context"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/watch/record"
)

// place holds the flag that says where a recording is.
type place struct{ dir string }

func (p *place) flag(c *cobra.Command, says string) {
	shell.Recording().Var(c, &p.dir, says)
}

// directory returns the directory of the recording.
func (p place) directory() (string, error) { return shell.Recording().In(p.dir) }

// recorded calls do with the recording.
func (p place) recorded(ctx context.Context, do func(*record.Reader) error) error {
	return shell.ReadRecording(ctx, p.dir, do)
}
