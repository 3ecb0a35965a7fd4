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
// seconds. An error says why there is no plan.
type Planner interface {
	Plan(ctx context.Context, h host.Reader, s *stack.Stack, of series.Statement) (series.Plan, error)
	Indexes(ctx context.Context, h host.Reader, s *stack.Stack, of stack.Ref) ([]series.Index, error)
}

// Plan asks a planner. A plan that cannot be had says why.
func Plan(ctx context.Context, p Planner, h host.Reader, s *stack.Stack, of series.Statement) series.Plan {
	plan, err := p.Plan(ctx, h, s, of)
	if err != nil {
		return Unplanned(of, err)
	}
	plan.Of, plan.Statement = of.Of, of.ID
	return plan
}

// Unplanned is the plan of a statement that has none, and why.
func Unplanned(of series.Statement, err error) series.Plan {
	return series.Plan{Of: of.Of, Statement: of.ID, Why: err.Error(), Hint: hint.Of(err)}
}
