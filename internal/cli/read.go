package cli

import (
	"context"
	"errors"
	"fmt"

	"plumb/internal/catalog"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// read gives the stack of the machine, or of the tape, that was asked for.
func (a *app) read(ctx context.Context, cat *catalog.Catalog, src source) (*stack.Stack, error) {
	if src.tape != "" {
		h, err := a.openTape(src.tape)
		if err != nil {
			return nil, err
		}
		return look(ctx, h, cat, nil), nil
	}
	given, dsn, err := target(src.dsn)
	if err != nil {
		return nil, &usageError{"read --dsn: " + err.Error(), "postgres://user@host:5432/postgres or mysql://user@host:3306/"}
	}
	live := host.NewLive(host.LiveOptions{Dialers: dialers(), DSN: dsn, Plumb: programVersion()})
	defer live.Close()
	ctx, cancel := context.WithTimeout(ctx, src.timeout)
	defer cancel()
	s := look(ctx, live, cat, given)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		s.Gaps = append(s.Gaps, stack.Gap{Probe: "check", Why: fmt.Sprintf("the check ended at its deadline of %s", src.timeout),
			Hint: "--timeout 2m gives it longer"})
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return nil, errors.New("read this host: interrupted")
	}
	return s, nil
}
