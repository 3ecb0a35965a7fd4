package client

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	engine "plumb/internal/engine/postgres"
	"plumb/internal/host"
	"plumb/internal/load"
)

// admin is one session of the driver.
type admin struct {
	s    *Server
	conn *pgconn.PgConn
}

// Exec implements load.Admin. Each statement is sent for itself, because
// several in one message are one transaction, in which VACUUM cannot run.
func (a *admin) Exec(ctx context.Context, statements ...string) error {
	for _, query := range statements {
		if _, err := a.conn.Exec(ctx, query).ReadAll(); err != nil {
			return a.failure(err, query)
		}
	}
	return nil
}

// Query implements load.Admin.
func (a *admin) Query(ctx context.Context, query string) (host.Rows, error) {
	var out host.Rows
	results := a.conn.Exec(ctx, query)
	for results.NextResult() {
		out = host.Rows{} // of several statements the last answers
		engine.Read(results.ResultReader(), host.QueryLimits{}, &out)
	}
	if err := results.Close(); err != nil {
		return host.Rows{}, a.failure(err, query)
	}
	return out, nil
}

// Fill implements load.Admin: COPY takes the rows as they are.
func (a *admin) Fill(ctx context.Context, table string, columns []string, rows io.Reader, after ...string) (int64, error) {
	query := "COPY " + table
	if len(columns) > 0 {
		query += " (" + strings.Join(columns, ", ") + ")"
	}
	query += " FROM STDIN"
	if err := a.Exec(ctx, "BEGIN"); err != nil {
		return 0, err
	}
	source := &load.Source{Reader: rows}
	tag, err := a.conn.CopyFrom(ctx, source, query)
	if source.Err != nil { // not the server's fault: it was told to give up
		err = source.Err
	}
	if err != nil {
		return 0, a.undo(a.failure(err, query))
	}
	if err := a.Exec(ctx, append(after, "COMMIT")...); err != nil {
		return 0, a.undo(err)
	}
	return tag.RowsAffected(), nil
}

// undo ends a transaction that failed.
func (a *admin) undo(err error) error {
	ctx, cancel := context.WithTimeout(context.Background(), a.s.c.Timeout)
	defer cancel()
	if !a.conn.IsClosed() {
		_, _ = a.conn.Exec(ctx, "ROLLBACK").ReadAll() // err says more
	}
	return err
}

func (a *admin) failure(err error, query string) error {
	f := &load.Failure{Class: load.Fatal, Doing: load.Short(query), Err: err}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		said := fault{severity: []byte(e.SeverityUnlocalized), code: []byte(e.Code), message: []byte(e.Message)}
		return said.failure(a.s.c.RetryCodes, f.Doing)
	}
	if a.conn.IsClosed() {
		f.Class = load.Lost
	}
	return f
}

// Close implements load.Admin.
func (a *admin) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return a.conn.Close(ctx)
}
