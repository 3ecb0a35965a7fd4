package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/go-sql-driver/mysql"

	"plumb/internal/host"
	"plumb/internal/load"
)

// readers numbers the readers that the driver knows: its list is one for the
// whole process.
var readers atomic.Int64

// loadData sends rows as the file of a LOAD DATA LOCAL. With LOCAL the server
// turns errors into warnings and goes on, so a warning is an error here.
func (a *admin) loadData(ctx context.Context, table string, columns []string, rows io.Reader) (int64, error) {
	name := "plumb" + strconv.FormatInt(readers.Add(1), 10)
	source := &load.Source{Reader: rows}
	mysql.RegisterReaderHandler(name, func() io.Reader { return source })
	defer mysql.DeregisterReaderHandler(name)
	query := "LOAD DATA LOCAL INFILE 'Reader::" + name + "' INTO TABLE " + table + " CHARACTER SET binary"
	if len(columns) > 0 {
		query += " (" + strings.Join(columns, ", ") + ")"
	}
	res, err := a.conn.ExecContext(ctx, query)
	if source.Err != nil { // not the server's fault: its file ended early
		err = source.Err
	}
	if err != nil {
		return 0, a.failed(err, query)
	}
	if err := a.warned(ctx, query); err != nil {
		return 0, err
	}
	n, err := res.RowsAffected()
	return n, err
}

// warned makes an error of the first warning of the last statement.
func (a *admin) warned(ctx context.Context, query string) error {
	found, err := a.Query(ctx, "SHOW WARNINGS LIMIT 1")
	if err != nil || len(found.Values) == 0 {
		return err
	}
	row := found.Values[0]
	return &load.Failure{Code: host.Text(row, 1), Message: host.Text(row, 2), Doing: load.Short(query)}
}

// insertBytes is how long an INSERT of many rows gets, unless the server
// takes less.
const insertBytes = 1 << 20

// insertRows sends rows as INSERTs of many rows each.
func (a *admin) insertRows(ctx context.Context, table string, columns []string, rows io.Reader) (total int64, err error) {
	var most int
	if err := a.conn.QueryRowContext(ctx, "SELECT @@max_allowed_packet").Scan(&most); err != nil {
		return 0, a.failed(err, "SELECT @@max_allowed_packet")
	}
	most = min(most/2, insertBytes)
	start := "INSERT INTO " + table
	if len(columns) > 0 {
		start += " (" + strings.Join(columns, ", ") + ")"
	}
	start += " VALUES "
	query := []byte(start)
	flush := func() error {
		if len(query) == len(start) {
			return nil
		}
		res, err := a.conn.ExecContext(ctx, string(query[:len(query)-1]))
		if err != nil {
			return a.failed(err, start)
		}
		n, err := res.RowsAffected()
		total += n
		query = query[:len(start)]
		return err
	}
	lines := bufio.NewReaderSize(rows, 1<<20)
	for number := 1; ; number++ {
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return total, flush()
		}
		if err != nil {
			return 0, fmt.Errorf("read row %d for table %s: %w", number, table, err)
		}
		query = append(appendValues(query, bytes.TrimSuffix(line, []byte("\n"))), ',')
		if len(query) > most {
			if err := flush(); err != nil {
				return 0, err
			}
		}
	}
}

// readLine reads to the next newline that no backslash escapes.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	if err != nil || !escapedEnd(line) {
		return line, err
	}
	long := append([]byte{}, line...)
	for err == nil && escapedEnd(long) && len(long) < insertBytes {
		line, err = r.ReadSlice('\n')
		long = append(long, line...)
	}
	return long, err
}

// escapedEnd reports whether the newline that ends a line is escaped.
func escapedEnd(line []byte) bool {
	text := bytes.TrimSuffix(line, []byte("\n"))
	return (len(text)-len(bytes.TrimRight(text, "\\")))%2 == 1
}

// appendValues writes a line of tab-separated fields as a list of literals.
func appendValues(out, line []byte) []byte {
	out = append(out, '(')
	for i := 0; ; {
		end := fieldEnd(line[i:])
		out = appendField(out, line[i:i+end])
		i += end
		if i >= len(line) {
			return append(out, ')')
		}
		out = append(out, ',')
		i++ // the tab
	}
}

// fieldEnd finds the tab that ends a field.
func fieldEnd(line []byte) int {
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case '\\':
			i++
		case '\t':
			return i
		}
	}
	return len(line)
}

// appendField writes one field as a literal, its escapes undone and those of
// a literal done. Quotes around numbers are right for every type.
func appendField(out, field []byte) []byte {
	if string(field) == `\N` {
		return append(out, "NULL"...)
	}
	out = append(out, '\'')
	for i := 0; i < len(field); i++ {
		c := field[i]
		if c == '\\' && i+1 < len(field) {
			i++
			c = unescaped(field[i])
		}
		if c == '\'' || c == '\\' {
			out = append(out, c)
		}
		out = append(out, c)
	}
	return append(out, '\'')
}

func unescaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 't':
		return '\t'
	case 'r':
		return '\r'
	case 'b':
		return '\b'
	case '0':
		return 0
	}
	return c
}
