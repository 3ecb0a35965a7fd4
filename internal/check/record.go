package check

import (
	"context"
	"fmt"

	"plumb/internal/host"
	"plumb/internal/host/taped"
	"plumb/internal/stack"
	"plumb/internal/tape"
)

// Record looks at a machine, and keeps every answer that the look had.
func Record(ctx context.Context, from host.Reader, look func(context.Context, host.Reader) (*stack.Stack, error)) (*tape.Tape, error) {
	recorder := taped.NewRecorder(from)
	if _, err := look(ctx, recorder); err != nil {
		return nil, err
	}
	t, err := recorder.Tape()
	if err != nil {
		return nil, fmt.Errorf("record this host: %w", err)
	}
	return t, nil
}
