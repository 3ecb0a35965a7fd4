package point

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/binlog"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/relay"
	"plumb/internal/units"
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

// Stands implements replay.Engine. A snapshot can be taken amid a write: the place is then the end of the last transaction that is whole in
// the file, and not the end of the file.
func (e *Engine) Stands(ctx context.Context, d host.Streamer, a load.Admin, c protect.Copy) (protect.Position, error) {
	p, err := e.Recovered(ctx, a, c)
	if err != nil || p.File == "" {
		return p, err
	}
	file := path.Join(path.Dir(c.In(c.Server.Settings["log_bin_basename"])), p.File)
	err = relay.Run(ctx, ownerOf(d, c.Server).read(file), func(in io.Reader) (err error) {
		p.Offset, err = binlog.Whole(in)
		return err
	})
	if err == nil && isMariaDB(c.Server) {
		p.GTID, err = counted(ctx, a, p)
	}
	if err != nil {
		return protect.Position{}, fmt.Errorf("read the position of the copy of %s in %s: %w", c.Server.Ref, p.File, err)
	}
	return p, nil
}

// counted gives the GTIDs of the log of a MariaDB up to a place, by the log itself. What its server tells can be wrong after a recovery: if
// the last file ends amid a transaction, and the last checkpoint of the binary log is in an older one, gtid_binlog_pos is set back to
// the first GTID of that (seen in 10.11.19). Who went on from there would have transactions twice.
func counted(ctx context.Context, a load.Admin, p protect.Position) (string, error) {
	row, err := host.One(a.Query(ctx, fmt.Sprintf("SELECT BINLOG_GTID_POS(%s, %d)", engine.Literal(p.File), p.Offset))) // which reads the file
	switch {
	case err != nil:
		return "", err
	case host.Cell(row, 0) == nil:
		return "", fmt.Errorf("the server does not tell the GTIDs before %d", p.Offset)
	}
	return gtids(host.Text(row, 0)), nil
}

// Decided refuses a copy that has recovered, and whose data need not be what its binary log says, or is more than that. The log decides
// about transactions that InnoDB has prepared; about those that a client has prepared only the client does. Other tables than InnoDB's are
// of the moment of the log only where a lock held writers while the snapshot was taken.
func (*Engine) Decided(ctx context.Context, a load.Admin, c protect.Copy, locked bool) error {
	rows, err := a.Query(ctx, prepared)
	if err != nil {
		return err
	}
	const whole = "without --to it is restored as it is"
	if n := len(rows.Values); n > 0 {
		return hint.With(fmt.Errorf("it has %s, which the log behind it may commit or roll back", units.Count(n, "prepared XA transaction")), "restore another point; "+whole)
	}
	if sv := c.Server; !on(cmp.Or(sv.Settings["log_replica_updates"], sv.Settings["log_slave_updates"])) {
		if rows, err = a.Query(ctx, engine.Sources(isMariaDB(sv), sv.Version)); err == nil && len(rows.Values) > 0 {
			err = hint.With(errors.New("it is of a replica without log_slave_updates, whose log lacks what it applies"), "restore a point of the server that it follows; "+whole)
		}
		if err != nil {
			return err
		}
	}
	if locked {
		return nil
	}
	torn, err := torn(ctx, a.Query)
	if err == nil && torn != "" {
		err = hint.With(fmt.Errorf("it was taken without a lock, and these tables need not be of the moment of its log: %s", torn), "plumb snapshot --mode locked takes points with a lock; "+whole)
	}
	return err
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
