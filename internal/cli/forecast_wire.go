package cli

import (
	"context"

	"plumb/internal/cli/shell"
	"plumb/internal/stack"
)

// readHost reads the machine that flags name, for commands that have no
// catalogue of their own.
func (a *app) readHost(ctx context.Context, src shell.Source) (*stack.Stack, error) {
	cat, err := a.loadCatalog()
	if err != nil {
		return nil, err
	}
	return a.read(ctx, cat, src)
}
