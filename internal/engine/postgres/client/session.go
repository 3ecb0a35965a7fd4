package client

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/internal/host/reach"
	"plumb/internal/load"
)

// session is one connection of the hot path.
type session struct {
	server     *Server
	conn       net.Conn
	asker      *reach.Asker // for plain sockets; otherwise nil
	statements []*statement
	out        []byte // what is sent
	in         []byte // what was read: in[:have]
	have       int
	answer     answer
	hasRows    bool // also when a prepared statement's rows were described before
	next       int  // where to look for the next row
	row        []byte
	over       *load.Failure // why the session has ended; nil while it goes on
}

// session takes over the driver's connection.
func (s *Server) session(conn *pgconn.PgConn) (*session, error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.c.Timeout)
	defer cancel()
	if err := conn.SyncConn(ctx); err != nil {
		_ = conn.Close(ctx)
		return nil, s.unreached(err)
	}
	taken, err := conn.Hijack()
	if err != nil {
		return nil, s.unreached(err)
	}
	quiet, err := reach.Quiet(taken.Conn)
	if err != nil {
		return nil, s.unreached(err)
	}
	out := &session{server: s, conn: quiet, in: make([]byte, 16<<10)}
	if asker, plain := reach.NewAsker(quiet); plain {
		out.asker = asker
	}
	return out, nil
}

// Prepare implements load.Session.
func (s *session) Prepare(query string) (int, error) {
	st, err := parseStatement(query)
	if err != nil {
		return 0, &load.Failure{Doing: load.Short(query), Err: err}
	}
	if !s.server.c.Text {
		if err := s.prepare(st); err != nil {
			return 0, err
		}
	}
	s.statements = append(s.statements, st)
	return len(s.statements) - 1, nil
}

// prepare makes a statement ready on the server: Parse, Describe, Sync.
func (s *session) prepare(st *statement) error {
	st.name = "p" + strconv.Itoa(len(s.statements))
	text := st.text()
	out := append(s.out[:0], 'P')
	out = binary.BigEndian.AppendUint32(out, uint32(4+len(st.name)+1+len(text)+1+2))
	out = append(append(out, st.name...), 0)
	out = append(append(out, text...), 0, 0, 0) // no types given: the server finds them
	out = append(out, 'D')
	out = binary.BigEndian.AppendUint32(out, uint32(4+1+len(st.name)+1))
	out = append(append(append(out, 'S'), st.name...), 0)
	s.out = append(out, 'S', 0, 0, 0, 4)
	if err := s.exchange(st, nil); err != nil {
		return err
	}
	st.types = parseTypes(s.answer.params.of(s.in))
	if len(st.types) != st.params() {
		return &load.Failure{Doing: "prepare " + load.Short(st.query),
			Message: fmt.Sprintf("the server sees %d parameters where %d were meant", len(st.types), st.params())}
	}
	st.rows = s.answer.hasRows
	st.prefix = bindPrefix(st.name, st.types)
	return nil
}

// Run implements load.Session.
func (s *session) Run(number int, args []load.Arg) error {
	if number < 0 || number >= len(s.statements) {
		return &load.Failure{Doing: "run statement " + strconv.Itoa(number), Message: "it was not prepared"}
	}
	st := s.statements[number]
	if len(args) != st.params() {
		return &load.Failure{Doing: load.Short(st.query), Message: fmt.Sprintf("takes %d parameters, got %d", st.params(), len(args))}
	}
	if s.server.c.Text {
		s.out = st.appendText(s.out[:0], args)
		if bytes.IndexByte(s.out[header:], 0) != len(s.out)-header-1 {
			return &load.Failure{Doing: load.Short(st.query), Message: "a text holds a zero byte, which PostgreSQL has no texts with"}
		}
		return s.exchange(st, nil)
	}
	s.out = st.appendCall(s.out[:0], args)
	err := s.exchange(st, nil)
	s.hasRows = st.rows
	return err
}

// Text implements load.Session.
func (s *session) Text(query []byte) error {
	s.out = append(s.out[:0], 'Q')
	s.out = binary.BigEndian.AppendUint32(s.out, uint32(4+len(query)+1))
	s.out = append(append(s.out, query...), 0)
	return s.exchange(nil, query)
}

// exchange sends what is in s.out and reads the whole answer. Either st or
// query says for errors what is being done.
func (s *session) exchange(st *statement, query []byte) error {
	s.row, s.hasRows = nil, false
	if s.over != nil {
		return s.over
	}
	if s.have = copy(s.in, s.in[s.answer.parsed:s.have]); s.have == len(s.in) { // full of news that came after the last answer
		s.in = append(s.in, make([]byte, len(s.in))...)
	}
	s.answer = answer{}
	err := s.ask()
	if err == nil {
		err = s.read()
	} else {
		s.parting()
	}
	s.next, s.hasRows = s.answer.firstRow, s.answer.hasRows
	if s.answer.fault != (span{}) {
		f := parseFault(s.answer.fault.of(s.in)).failure(s.server.c.RetryCodes, doing(st, query))
		if err != nil || f.Class == load.Lost {
			s.over, f.Class = f, load.Lost
		}
		return f
	}
	if err != nil {
		return s.lose(err, st, query)
	}
	if string(s.answer.tag.of(s.in)) == "ROLLBACK" && commits(doing(st, query)) {
		return &load.Failure{Code: "25P02", Doing: doing(st, query), Message: "the server answered ROLLBACK: an earlier error had ended the transaction"}
	}
	return nil
}

// ask sends the request, and reads the beginning of the answer where that
// saves a system call.
func (s *session) ask() error {
	if s.asker == nil {
		_, err := s.conn.Write(s.out)
		return err
	}
	n, err := s.asker.Ask(s.out, s.in[s.have:])
	s.have += n
	return err
}

// more reads more of the answer.
func (s *session) more() error {
	var n int
	var err error
	if s.asker == nil {
		n, err = s.conn.Read(s.in[s.have:])
	} else {
		n, err = s.asker.Read(s.in[s.have:])
	}
	s.have += n
	return err
}

// read reads until the answer is complete.
func (s *session) read() error {
	copies := 0
	for {
		if err := s.answer.parse(s.in[:s.have]); err != nil || s.answer.complete || s.answer.over {
			return err
		}
		if s.answer.copies > copies {
			copies = s.answer.copies
			if err := s.refuseCopy(); err != nil {
				return err
			}
		}
		if s.have == len(s.in) {
			if len(s.in) >= longest {
				return errors.New("an answer of more than 1 GiB")
			}
			s.in = append(s.in, make([]byte, len(s.in))...)
		}
		if err := s.more(); err != nil {
			return errors.Join(s.answer.parse(s.in[:s.have]), err)
		}
	}
}

// refuseCopy answers a server that waits for rows of a COPY, which would wait
// for ever. It has thrown away the Sync that came with an Execute.
func (s *session) refuseCopy() error {
	const fail = "f\x00\x00\x00\x0cno rows\x00"
	out := []byte(fail)
	if s.out[0] != 'Q' {
		out = append(out, 'S', 0, 0, 0, 4)
	}
	_, err := s.conn.Write(out)
	return err
}

// parting reads what the server said before it closed the connection.
func (s *session) parting() {
	_ = s.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	_ = s.read() // that the connection is lost is known already
}

// lose ends the session.
func (s *session) lose(err error, st *statement, query []byte) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	s.over = &load.Failure{Class: load.Lost, Doing: doing(st, query), Err: err}
	_ = s.conn.Close()
	return s.over
}

func doing(st *statement, query []byte) string {
	if st != nil {
		return load.Short(st.query)
	}
	return load.Short(string(query))
}

// commits reports whether a statement ends a transaction well. PostgreSQL has
// no error for a COMMIT that rolls back.
func commits(query string) bool {
	for _, word := range []string{"commit", "end"} {
		if len(query) >= len(word) && bytes.EqualFold([]byte(query[:len(word)]), []byte(word)) {
			return true
		}
	}
	return false
}

// Affected implements load.Session.
func (s *session) Affected() int64 { return s.answer.affected }

// HadRows implements load.Session.
func (s *session) HadRows() bool { return s.hasRows }

// Next implements load.Session.
func (s *session) Next() bool {
	body, ok := s.answer.nextRow(s.in, s.next)
	if !ok {
		s.row = nil
		return false
	}
	s.row, s.next = body.of(s.in), body.to
	return true
}

// Int implements load.Session.
func (s *session) Int(column int) int64 { return parseInt(parseColumn(s.row, column)) }

// Bytes implements load.Session.
func (s *session) Bytes(column int) []byte { return parseColumn(s.row, column) }

// Close implements load.Session. It tells the server, so that its log has no
// connection that just went away, but does not wait for it.
func (s *session) Close() error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = s.conn.Write([]byte("X\x00\x00\x00\x04"))
	return s.conn.Close()
}
