package client

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"time"

	"plumb/internal/host/reach"
	"plumb/internal/load"
)

// Commands of the protocol.
const (
	comQuit    = 0x01
	comQuery   = 0x03
	comPrepare = 0x16
	comExecute = 0x17
)

// askPlainSlash asks whether a backslash in a literal is nothing special.
const askPlainSlash = "SELECT @@sql_mode LIKE '%NO_BACKSLASH_ESCAPES%'"

// session is one connection of the hot path.
type session struct {
	server     *Server
	login      driver.Conn // the driver's, kept only to be closed
	conn       net.Conn
	asker      *reach.Asker
	eof        bool // ends of lists are packets of their own
	cached     bool // MariaDB sends the columns of a prepared statement only when they changed
	plainSlash bool // a backslash in a literal is nothing special
	statements []*statement
	query      []byte // the one under way, for errors

	out  []byte // what is sent
	in   []byte // what was read: in[:have], of which in[:at] is parsed
	have int
	at   int

	result
	over *load.Failure // why the session has ended; nil while it goes on
}

// openWire logs in and takes the connection over.
func (s *Server) openWire(ctx context.Context) (load.Session, error) {
	var heard *overheard
	login, err := s.connect(ctx, &heard)
	if err != nil {
		return nil, err
	}
	caps, extended := heard.agreed()
	quiet, err := reach.Quiet(heard.plain)
	if err != nil {
		_ = login.Close() // err says more
		return nil, s.unreached(err)
	}
	out := &session{server: s, login: login, conn: quiet, in: make([]byte, 16<<10),
		eof: caps&deprecateEOF == 0, cached: extended&cacheMetadata != 0}
	asker, plain := reach.NewAsker(quiet)
	if !plain {
		_ = out.Close()
		return nil, s.unreached(errors.New("not a plain socket"))
	}
	out.asker = asker
	if err := out.settle(); err != nil {
		_ = out.Close()
		return nil, err
	}
	return out, nil
}

// settle sets the session up.
func (s *session) settle() error {
	if set := s.server.isolation(); set != "" {
		if err := s.Text([]byte(set)); err != nil {
			return err
		}
	}
	if !s.server.c.Text {
		return nil
	}
	if err := s.Text([]byte(askPlainSlash)); err != nil {
		return err
	}
	s.plainSlash = s.Next() && s.Int(0) == 1
	return nil
}

// Prepare implements load.Session.
func (s *session) Prepare(query string) (int, error) {
	st := parseStatement(query)
	if !s.server.c.Text {
		if err := s.prepare(st); err != nil {
			return 0, err
		}
	}
	s.statements = append(s.statements, st)
	return len(s.statements) - 1, nil
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
	s.query = st.bytes
	if s.server.c.Text {
		s.out = st.appendText(append(s.out[:0], 0, 0, 0, 0, comQuery), args, s.plainSlash)
		return s.exchange(nil)
	}
	s.out = st.appendCall(append(s.out[:0], 0, 0, 0, 0), args)
	return s.exchange(st)
}

// Text implements load.Session.
func (s *session) Text(query []byte) error {
	s.query = query
	s.out = append(append(s.out[:0], 0, 0, 0, 0, comQuery), query...)
	return s.exchange(nil)
}

// exchange sends what is in s.out and reads the whole answer: of a prepared
// statement, or of a text.
func (s *session) exchange(st *statement) error {
	if err := s.ask(); err != nil {
		return err
	}
	for {
		more, err := s.readResult(st)
		if err != nil || !more {
			return s.judge(err)
		}
	}
}

// ask sends the request and reads the beginning of the answer.
func (s *session) ask() error {
	s.result = result{columns: s.result.columns[:0]}
	s.scratch = s.scratch[:0]
	if s.over != nil {
		return s.over
	}
	length := len(s.out) - header
	if length >= longest {
		return &load.Failure{Doing: load.Short(string(s.query)), Message: "a statement of 16 MiB or more"}
	}
	binary.LittleEndian.PutUint32(s.out, uint32(length)) // the sequence begins at 0
	s.at, s.have = 0, 0
	n, err := s.asker.Ask(s.out, s.in)
	s.have = n
	if err != nil {
		s.parting()
		return s.lose(err)
	}
	return nil
}

// packet gives the next packet of the answer, and reads more when needed. It
// is valid until the next call; its place in s.in is not moved.
func (s *session) packet() ([]byte, error) {
	for {
		if left := s.have - s.at; left >= header {
			b := s.in[s.at:]
			n := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
			if n == longest {
				return nil, errLong
			}
			if left >= header+n {
				s.at += header + n
				return b[header : header+n], nil
			}
			s.grow(s.at + header + n)
		}
		s.grow(s.have + 1)
		n, err := s.asker.Read(s.in[s.have:])
		s.have += n
		if err != nil {
			return nil, err
		}
	}
}

// grow makes room for so many bytes of answer.
func (s *session) grow(n int) {
	if n > len(s.in) {
		s.in = slices.Grow(s.in, n-len(s.in))
		s.in = s.in[:cap(s.in)]
	}
}

// judge makes a failure of an error while an answer was read.
func (s *session) judge(err error) error {
	if err == nil {
		return nil
	}
	f, ok := errors.AsType[*load.Failure](err)
	if !ok {
		return s.lose(err)
	}
	if f.Class == load.Lost {
		s.over = f
	}
	return f
}

// parting reads what the server said before it closed the connection.
func (s *session) parting() {
	_ = s.conn.SetReadDeadline(time.Now().Add(200 * time.Millisecond))
	if body, err := s.packet(); err == nil && len(body) > 0 && body[0] == isError {
		s.over = s.fault(body)
		s.over.Class = load.Lost
	}
}

// lose ends the session.
func (s *session) lose(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	if s.over == nil {
		s.over = &load.Failure{Class: load.Lost, Doing: load.Short(string(s.query)), Err: err}
	}
	if errors.Is(err, errShort) || errors.Is(err, errForeign) || errors.Is(err, errLong) {
		s.over.Class = load.Fatal // a new session would end the same way
	}
	_ = s.conn.Close()
	return s.over
}

// fault makes a failure of an error packet.
func (s *session) fault(body []byte) *load.Failure {
	code, message := parseError(body)
	return s.server.failure(code, string(message), string(s.query))
}

// Affected implements load.Session.
func (s *session) Affected() int64 { return s.affected }

// HadRows implements load.Session.
func (s *session) HadRows() bool { return s.hasRows }

// Close implements load.Session. It tells the server, so that its log has no
// connection that just went away, but does not wait for it.
func (s *session) Close() error {
	_ = s.conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_, _ = s.conn.Write([]byte{1, 0, 0, 0, comQuit})
	_ = s.login.Close() // ends what the driver keeps running; its half of the connection may be gone
	return ignoreClosed(s.conn.Close())
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
