package client

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"time"

	"plumb/internal/host"
	"plumb/internal/load"
)

// admin is one session of the driver.
type admin struct {
	s    *Server
	db   *sql.DB
	conn *sql.Conn
}

// Admin implements load.Server.
func (s *Server) Admin(ctx context.Context) (load.Admin, error) {
	db, err := s.database()
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, s.c.Timeout)
	defer cancel()
	conn, err := db.Conn(limited)
	if err != nil {
		return nil, errors.Join(s.unreached(err), db.Close())
	}
	a := &admin{s, db, conn}
	if set := s.isolation(); set != "" {
		if err := a.Exec(ctx, set); err != nil {
			return nil, errors.Join(err, a.Close())
		}
	}
	return a, nil
}

// Exec implements load.Admin.
func (a *admin) Exec(ctx context.Context, statements ...string) error {
	for _, query := range statements {
		if _, err := a.conn.ExecContext(ctx, query); err != nil {
			return a.failed(err, query)
		}
	}
	return nil
}

func (a *admin) failed(err error, query string) error {
	return a.s.failed(err, query)
}

// Query implements load.Admin.
func (a *admin) Query(ctx context.Context, query string) (host.Rows, error) {
	rows, err := a.conn.QueryContext(ctx, query)
	if err != nil {
		return host.Rows{}, a.failed(err, query)
	}
	defer rows.Close()
	out, err := readAll(rows)
	if err != nil {
		return host.Rows{}, a.failed(err, query)
	}
	return out, nil
}

func readAll(rows *sql.Rows) (out host.Rows, err error) {
	if out.Columns, err = rows.Columns(); err != nil {
		return out, err
	}
	types, err := rows.ColumnTypes()
	if err != nil {
		return out, err
	}
	cells := make([]any, len(out.Columns))
	into := make([]any, len(cells))
	for i := range cells {
		into[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return out, err
		}
		row := make([]*string, len(cells))
		for i, c := range cells {
			row[i] = adminText(c, types[i])
		}
		out.Values = append(out.Values, row)
	}
	return out, rows.Err()
}

// adminText gives a value as the server wrote it. The driver has made numbers
// of some texts.
func adminText(v driver.Value, t *sql.ColumnType) *string {
	decimals := floating
	if _, scale, ok := t.DecimalSize(); ok && scale < floating {
		decimals = int(scale)
	}
	var text string
	switch v := v.(type) {
	case nil:
		return nil
	case float64:
		text = string(appendReal(nil, v, false, decimals))
	case float32:
		text = string(appendReal(nil, float64(v), true, decimals))
	default:
		text = string(textOf(v))
	}
	return &text
}

// Close implements load.Admin.
func (a *admin) Close() error { return errors.Join(a.conn.Close(), a.db.Close()) }

// What a fill sets for itself, whatever the server's own setting is: nothing
// is cut to fit, backslashes escape, warnings can be read.
const (
	beforeFill = "SET @plumb_mode=@@sql_mode, @plumb_errors=@@max_error_count, sql_mode='STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO', max_error_count=64"
	afterFill  = "SET sql_mode=@plumb_mode, max_error_count=@plumb_errors"
)

// Fill implements load.Admin: LOAD DATA LOCAL where the server allows it,
// otherwise INSERTs of many rows. Texts are stored as the bytes they are.
func (a *admin) Fill(ctx context.Context, table string, columns []string, rows io.Reader, after ...string) (int64, error) {
	if err := a.Exec(ctx, beforeFill, "BEGIN"); err != nil {
		return 0, err
	}
	n, err := a.fill(ctx, table, columns, rows)
	if err == nil {
		err = a.Exec(ctx, append(after, "COMMIT")...)
	}
	if err != nil {
		return 0, a.undo(err)
	}
	return n, a.Exec(ctx, afterFill)
}

// undo ends a transaction that failed. When the line is gone, the server does.
func (a *admin) undo(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), min(a.s.c.Timeout, 10*time.Second))
	defer cancel()
	_, _ = a.conn.ExecContext(ctx, "ROLLBACK") // err says more
	_, _ = a.conn.ExecContext(ctx, afterFill)
	return err
}

func (a *admin) fill(ctx context.Context, table string, columns []string, rows io.Reader) (int64, error) {
	var allowed string
	if err := a.conn.QueryRowContext(ctx, "SELECT @@local_infile").Scan(&allowed); err != nil {
		return 0, a.failed(err, "SELECT @@local_infile")
	}
	if allowed == "1" {
		return a.loadData(ctx, table, columns, rows)
	}
	return a.insertRows(ctx, table, columns, rows)
}
