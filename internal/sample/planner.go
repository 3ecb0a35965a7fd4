package sample

import (
	"context"

	"plumb/internal/hint"
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

// Unplanned is the plan of a statement that has none, and why.
func Unplanned(of series.Statement, err error) series.Plan {
	return series.Plan{Of: of.Of, Statement: of.ID, Why: err.Error(), Hint: hint.Of(err)}
}
