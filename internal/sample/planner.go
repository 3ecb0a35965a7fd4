package sample

import (
	"context"

	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Planner says how a server of one kind carries out a statement, and which
// indexes it could do without. It is asked only when a person asks, and may take
// seconds. A plan that cannot be had says why.
type Planner interface {
	Plan(ctx context.Context, h host.Reader, s *stack.Stack, of series.Statement) series.Plan
	Indexes(ctx context.Context, h host.Reader, s *stack.Stack, of stack.Ref) ([]series.Index, error)
}
