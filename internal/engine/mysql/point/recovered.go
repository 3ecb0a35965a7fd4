package point

import (
	"context"
	"fmt"
	"strconv"

	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Recovered implements protect.Starter.
func (*Engine) Recovered(ctx context.Context, a load.Admin, c protect.Copy) (protect.Position, error) {
	p, err := positionNow(ctx, a.Query)
	if err == nil && p.File != "" {
		err = before(ctx, a, &p)
	}
	if err != nil {
		return protect.Position{}, fmt.Errorf("read where the copy of %s stands: %w", c.Server.Ref, err)
	}
	return p, nil
}

// before puts the end of the recovered binary log in the place of the new one, which
// every start begins.
func before(ctx context.Context, a load.Admin, p *protect.Position) error {
	rows, err := a.Query(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return err
	}
	now := p.File
	p.File, p.Offset = "", 0
	for _, row := range rows.Values {
		if host.Text(row, 0) == now {
			return nil
		}
		p.File = host.Text(row, 0)
		if p.Offset, err = strconv.ParseInt(host.Text(row, 1), 10, 64); err != nil {
			return fmt.Errorf("the size of %s: %w", p.File, err)
		}
	}
	return nil
}
