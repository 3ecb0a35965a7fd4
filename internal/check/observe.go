package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"plumb/internal/budget"
	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// DefaultTimeout ends a check that hangs: a healthy one takes about a second.
const DefaultTimeout = 30 * time.Second

// Observe reads a machine with the probes of each phase, until the limit. What
// was seen until then is worth showing, so a deadline becomes a gap; an
// interrupt ends it all.
func Observe(ctx context.Context, h host.Reader, cat *catalog.Catalog, phases [][]observe.Probe, limit time.Duration) (*stack.Stack, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	s := observe.Host(ctx, h, phases...)
	observe.TellVersions(s, cat)
	budget.Apply(s)
	switch err := ctx.Err(); {
	case errors.Is(err, context.DeadlineExceeded):
		s.Gaps = append(s.Gaps, stack.Gap{Probe: "check", Why: fmt.Sprintf("the check ended at its deadline of %s", units.Span(limit)),
			Hint: "--timeout 2m gives it longer"})
	case err != nil:
		return nil, errors.New("read this host: interrupted")
	}
	return s, nil
}
