package client

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/load"
)

// slow is a session on the driver, for connections that cannot be taken over.
// It allocates, and costs several times what a session on the wire does.
type slow struct {
	server     *Server
	conn       driver.Conn
	statements []slowStatement
	out        []byte
	plainSlash bool // a backslash in a literal is nothing special
	affected   int64
	hasRows    bool
	rows       [][][]byte
	row        [][]byte
	next       int
}

type slowStatement struct {
	*statement
	ready driver.Stmt // nil in text mode
}

func (s *Server) openSlow(ctx context.Context) (load.Session, error) {
	conn, err := s.connect(ctx, nil)
	if err != nil {
		return nil, err
	}
	out := &slow{server: s, conn: conn}
	if set := s.isolation(); set != "" {
		if err := out.Text([]byte(set)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
	}
	if s.c.Text {
		if err := out.Text([]byte(askPlainSlash)); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		out.plainSlash = out.Next() && out.Int(0) == 1
	}
	return out, nil
}

// Prepare implements load.Session.
func (s *slow) Prepare(query string) (int, error) {
	st := slowStatement{statement: parseStatement(query)}
	if !s.server.c.Text {
		var err error
		if st.ready, err = s.conn.Prepare(query); err != nil {
			return 0, s.server.failed(err, query)
		}
	}
	s.statements = append(s.statements, st)
	return len(s.statements) - 1, nil
}

// Run implements load.Session.
func (s *slow) Run(number int, args []load.Arg) error {
	if number < 0 || number >= len(s.statements) {
		return &load.Failure{Doing: "run statement " + strconv.Itoa(number), Message: "it was not prepared"}
	}
	st := s.statements[number]
	if len(args) != st.params() {
		return &load.Failure{Doing: load.Short(st.query), Message: fmt.Sprintf("takes %d parameters, got %d", st.params(), len(args))}
	}
	if st.ready == nil {
		s.out = st.appendText(s.out[:0], args, s.plainSlash)
		return s.Text(s.out)
	}
	values := make([]driver.NamedValue, len(args))
	for i, a := range args {
		values[i].Ordinal = i + 1
		switch a.Kind {
		case load.Number:
			values[i].Value = a.Num
		case load.String:
			values[i].Value = a.Str
		}
	}
	if !givesRows(st.query) {
		res, err := st.ready.(driver.StmtExecContext).ExecContext(context.Background(), values)
		return s.changed(res, err, st.query)
	}
	rows, err := st.ready.(driver.StmtQueryContext).QueryContext(context.Background(), values)
	return s.keep(rows, err, st.query)
}

// Text implements load.Session.
func (s *slow) Text(query []byte) error {
	text := string(query)
	if !givesRows(text) {
		res, err := s.conn.(driver.ExecerContext).ExecContext(context.Background(), text, nil)
		return s.changed(res, err, text)
	}
	rows, err := s.conn.(driver.QueryerContext).QueryContext(context.Background(), text, nil)
	return s.keep(rows, err, text)
}

// givesRows tells statements with rows by their first word: the driver has
// two ways to call.
func givesRows(query string) bool {
	word, _, _ := strings.Cut(strings.TrimLeft(query, " \t\n("), " ")
	switch strings.ToLower(word) {
	case "select", "show", "with", "values", "table", "explain", "desc", "describe", "check", "analyze":
		return true
	}
	return false
}

func (s *slow) changed(res driver.Result, err error, query string) error {
	s.affected, s.hasRows, s.rows, s.row, s.next = 0, false, nil, nil, 0
	if err != nil {
		return s.server.failed(err, query)
	}
	s.affected, err = res.RowsAffected()
	return err
}

func (s *slow) keep(rows driver.Rows, err error, query string) error {
	s.affected, s.hasRows, s.rows, s.row, s.next = 0, true, nil, nil, 0
	if err != nil {
		return s.server.failed(err, query)
	}
	values := make([]driver.Value, len(rows.Columns()))
	for {
		err := rows.Next(values)
		if errors.Is(err, io.EOF) {
			return rows.Close()
		}
		if err != nil {
			return s.server.failed(err, query)
		}
		row := make([][]byte, len(values))
		for i, v := range values {
			row[i] = textOf(v)
		}
		s.rows = append(s.rows, row)
	}
}

func textOf(v driver.Value) []byte {
	switch v := v.(type) {
	case nil:
		return nil
	case []byte:
		return append([]byte{}, v...)
	case time.Time:
		return []byte(v.Format("2006-01-02 15:04:05"))
	}
	return fmt.Append(nil, v)
}

// Affected implements load.Session.
func (s *slow) Affected() int64 { return s.affected }

// HadRows implements load.Session.
func (s *slow) HadRows() bool { return s.hasRows }

// Next implements load.Session.
func (s *slow) Next() bool {
	if s.next >= len(s.rows) {
		s.row = nil
		return false
	}
	s.row = s.rows[s.next]
	s.next++
	return true
}

// Int implements load.Session.
func (s *slow) Int(i int) int64 { return parseInt(s.Bytes(i)) }

// Bytes implements load.Session.
func (s *slow) Bytes(i int) []byte {
	if i < 0 || i >= len(s.row) {
		return nil
	}
	return s.row[i]
}

// Close implements load.Session.
func (s *slow) Close() error { return s.conn.Close() }

// brokenLine tells errors of the connection from those of the server.
func brokenLine(err error) bool {
	var n net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, io.EOF) ||
		errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || errors.As(err, &n)
}
