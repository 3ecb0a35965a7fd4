package client

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"

	"plumb/internal/host/reach"
)

// fakeSession is one connection to a fake server.
type fakeSession struct {
	f          *FakeServer
	conn       net.Conn
	asker      *reach.Asker // of conn, which is a plain socket
	in, out    []byte
	status     byte
	answered   int64
	statements map[string]*fakeStatement
	bound      *canned
}

// fakeStatement is a prepared query.
type fakeStatement struct {
	*canned
	params int
}

// Requests that come instead of a start-up message.
const (
	requestSSL    = 80877103
	requestGSS    = 80877104
	requestCancel = 80877102
)

func (s *fakeSession) serve() {
	if !s.welcome() {
		return
	}
	s.in = make([]byte, 0, 16<<10)
	for {
		if len(s.in) == cap(s.in) {
			s.in = append(s.in, make([]byte, len(s.in))...)[:len(s.in)]
		}
		n, err := s.asker.Read(s.in[len(s.in):cap(s.in)])
		if err != nil {
			return
		}
		s.in = s.in[:len(s.in)+n]
		used, ok := s.requests(s.in)
		if len(s.out) > 0 {
			if _, err := s.asker.Ask(s.out, nil); err != nil {
				return
			}
			s.out = s.out[:0]
		}
		if !ok {
			return
		}
		s.in = s.in[:copy(s.in, s.in[used:])]
	}
}

// welcome answers the start-up message.
func (s *fakeSession) welcome() bool {
	for {
		var head [8]byte
		if _, err := io.ReadFull(s.conn, head[:]); err != nil {
			return false
		}
		length, code := binary.BigEndian.Uint32(head[:]), binary.BigEndian.Uint32(head[4:])
		if length < 8 || length > 10000 || code == requestCancel {
			return false
		}
		if _, err := io.ReadFull(s.conn, make([]byte, length-8)); err != nil {
			return false
		}
		if code == requestSSL || code == requestGSS {
			if _, err := s.conn.Write([]byte{'N'}); err != nil {
				return false
			}
			continue
		}
		out := appendMessage(nil, 'R', "\x00\x00\x00\x00")
		out = appendMessage(out, 'S', "server_version\x0018.0 (fake)\x00")
		out = appendMessage(out, 'S', "client_encoding\x00UTF8\x00")
		out = appendMessage(out, 'S', "standard_conforming_strings\x00on\x00")
		out = appendMessage(out, 'K', "\x00\x00\x00\x01\x00\x00\x00\x01")
		_, err := s.conn.Write(appendMessage(out, 'Z', "I"))
		return err == nil
	}
}

// requests answers the whole messages that came, and gives their length; false
// ends the connection.
func (s *fakeSession) requests(in []byte) (used int, ok bool) {
	for len(in)-used >= header {
		length := binary.BigEndian.Uint32(in[used+1:])
		if length < 4 || length > longest {
			return used, false
		}
		end := used + 1 + int(length)
		if end > len(in) {
			break
		}
		if !s.request(in[used], in[used+header:end]) {
			return used, false
		}
		used = end
	}
	return used, true
}

func (s *fakeSession) request(kind byte, body []byte) bool {
	first, rest, _ := bytes.Cut(body, []byte{0})
	switch kind {
	case 'Q':
		s.bound = s.f.canned.of(first)
		s.out = append(s.out, s.bound.columns...)
		if !s.execute() {
			return false
		}
		s.ready()
	case 'P':
		query, _, _ := bytes.Cut(rest, []byte{0})
		s.statements[string(first)] = &fakeStatement{s.f.canned.of(query), fakeParams(query)}
		s.out = appendMessage(s.out, '1', "")
	case 'D':
		if len(first) > 0 {
			s.describe(s.statements[string(first[1:])])
		}
	case 'B':
		name, _, _ := bytes.Cut(rest, []byte{0})
		s.bound = nil
		if st := s.statements[string(name)]; st != nil {
			s.bound = st.canned
		}
		s.out = append(s.out, '2', 0, 0, 0, 4)
	case 'E':
		return s.execute()
	case 'S':
		s.ready()
	case 'X':
		return false
	}
	return true
}

// execute answers the statement that was bound.
func (s *fakeSession) execute() bool {
	if s.bound == nil || s.f.CloseAfter > 0 && s.answered >= s.f.CloseAfter {
		return false
	}
	s.answered++
	s.f.Wait()
	s.f.Answered.Add(1)
	s.out = append(append(s.out, s.bound.rows...), s.bound.done...)
	if s.bound.status != 0 {
		s.status = s.bound.status
	}
	return true
}

func (s *fakeSession) ready() { s.out = append(s.out, 'Z', 0, 0, 0, 5, s.status) }

func (s *fakeSession) describe(st *fakeStatement) {
	if st == nil {
		return
	}
	body := binary.BigEndian.AppendUint16(nil, uint16(st.params))
	for range st.params {
		body = binary.BigEndian.AppendUint32(body, typeInt4)
	}
	s.out = appendMessage(s.out, 't', string(body))
	if len(st.columns) == 0 {
		s.out = appendMessage(s.out, 'n', "")
	}
	s.out = append(s.out, st.columns...)
}

// fakeParams finds the highest $n, without minding quotes.
func fakeParams(query []byte) int {
	highest := int64(0)
	for i := range len(query) {
		if query[i] == '$' {
			highest = max(highest, parseInt(query[i+1:]))
		}
	}
	return int(min(highest, 1<<15))
}
