package point

import (
	"context"
	"fmt"
	"strconv"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
)

// Recovered implements protect.Starter.
func (*Engine) Recovered(ctx context.Context, a load.Admin, c protect.Copy) (protect.Position, error) {
	p, err := positionNow(ctx, a.Query)
	if err == nil && p.File != "" {
		err = before(ctx, a, c.Server.Settings["server_id"], &p)
	}
	if err != nil {
		return protect.Position{}, fmt.Errorf("read the position of the copy of %s: %w", c.Server.Ref, err)
	}
	return p, nil
}

// before puts the end of the recovered binary log in the place of a new one, which
// every start begins: the last that the source wrote is known by its number.
func before(ctx context.Context, a load.Admin, sourceNumber string, p *protect.Position) error {
	rows, err := a.Query(ctx, "SHOW BINARY LOGS")
	if err != nil {
		return err
	}
	for i := len(rows.Values) - 1; i >= 0; i-- {
		p.File = host.Text(rows.Values[i], 0)
		if p.Offset, err = strconv.ParseInt(host.Text(rows.Values[i], 1), 10, 64); err != nil {
			return fmt.Errorf("the size of %s: %w", p.File, err)
		}
		wrote, err := a.Query(ctx, "SHOW BINLOG EVENTS IN "+engine.Literal(p.File)+" LIMIT 1")
		if err != nil {
			return err
		}
		if len(wrote.Values) > 0 && host.Text(wrote.Values[0], 3) == sourceNumber {
			return nil
		}
	}
	p.File, p.Offset = "", 0
	return nil
}
