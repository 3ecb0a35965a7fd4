package point

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	engine "plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/protect"
)

// ask asks a server for rows: on a held session, over a reader, or in a copy.
type ask func(ctx context.Context, query string) (host.Rows, error)

// Position implements protect.Engine.
func (*Engine) Position(ctx context.Context, h host.Reader, t host.Target) (protect.Position, error) {
	p, err := positionNow(ctx, func(ctx context.Context, q string) (host.Rows, error) { return h.Query(ctx, t, q) })
	if err != nil {
		return p, fmt.Errorf("read the position of %s: %w", t.Name, err)
	}
	return p, nil
}

// Says implements protect.Teller.
func (*Engine) Says(ctx context.Context, h host.Reader, t host.Target) (string, error) {
	return protect.Said(ctx, h, t, "SELECT @@datadir")
}

func positionNow(ctx context.Context, q ask) (protect.Position, error) {
	flavor, version, logs, err := about(ctx, q)
	if err != nil {
		return protect.Position{}, err
	}
	return read(ctx, q, positions(flavor, version, logs))
}

// about asks a server what it is.
func about(ctx context.Context, q ask) (flavor, version string, logs bool, err error) {
	row, err := host.One(q(ctx, "SELECT @@version, @@version_comment, @@log_bin"))
	if err != nil {
		return "", "", false, err
	}
	flavor, version = engine.Identify(host.Text(row, 0), host.Text(row, 1))
	return flavor, version, on(host.Text(row, 2)), nil
}

// read runs the statements that tell a position.
func read(ctx context.Context, q ask, statements []string) (p protect.Position, err error) {
	for _, s := range statements {
		rows, err := q(ctx, s)
		if err != nil {
			return protect.Position{}, err
		}
		if len(rows.Values) == 0 {
			continue // no binary log
		}
		row := rows.Values[0]
		switch s {
		case gtidsMariaDB:
			p.GTID, p.Applied = gtids(host.Text(row, 0)), gtids(host.Text(row, 1))
		case gtidsMySQL:
			p.GTID = gtids(host.Text(row, 0))
		default:
			p.File = host.Text(row, 0)
			if p.Offset, err = strconv.ParseInt(host.Text(row, 1), 10, 64); err != nil {
				return protect.Position{}, fmt.Errorf("the offset of %s: %w", p.File, err)
			}
		}
	}
	return p, nil
}

// gtids writes a set of GTIDs in one way: MySQL breaks lines in it, and the order of
// MariaDB's domains is not always the same.
func gtids(text string) string {
	all := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' })
	slices.Sort(all)
	return strings.Join(all, ",")
}

// Same implements protect.Starter.
func (*Engine) Same(point, recovered protect.Position) string {
	for _, c := range []struct{ what, point, recovered string }{
		{"GTID position", point.GTID, recovered.GTID}, {"binary log", place(point), place(recovered)}, {"applied GTID position", point.Applied, recovered.Applied},
	} {
		if c.point != c.recovered && c.point != "" {
			return fmt.Sprintf("the %s of the point is %s, and the copy's %s", c.what, brief(c.point), brief(c.recovered))
		}
	}
	return ""
}

func place(p protect.Position) string {
	if p.File == "" {
		return ""
	}
	return p.File + ":" + strconv.FormatInt(p.Offset, 10)
}

// brief shortens what can be thousands of GTIDs.
func brief(s string) string {
	if s == "" {
		return "is not known"
	}
	if len(s) > 200 {
		return s[:100] + "…" + s[len(s)-100:]
	}
	return s
}
