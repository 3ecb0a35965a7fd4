package client

import (
	"bytes"
	"encoding/binary"
	"net"
)

// fakeSession serves one connection.
type fakeSession struct {
	f        *FakeServer
	conn     net.Conn
	in       []byte
	have     int
	prepared []bool // by number less one: gives rows
	answered int64
}

// greeting is the first packet: protocol 10, and what such a server can do.
// Bit 0 is set, so this is MySQL and not MariaDB.
func greeting() []byte {
	const caps = 1 | 1<<3 | 1<<9 | 1<<13 | 1<<15 | 1<<19 | 1<<24 // MySQL, with database, 4.1, transactions, secure, plugins, no EOF
	out := append([]byte{10}, "8.0.0-fake\x00"...)
	out = append(out, 1, 0, 0, 0)
	out = append(out, "12345678\x00"...)
	out = append(out, byte(caps&0xff), byte(caps>>8&0xff), 33, 2, 0, byte(caps>>16&0xff), byte(caps>>24&0xff), 21)
	out = append(out, make([]byte, 10)...)
	out = append(out, "123456789012\x00"...)
	return append(out, "mysql_native_password\x00"...)
}

var fakeOK = []byte{isOK, 1, 0, 2, 0, 0, 0} // one row changed

func (s *fakeSession) serve() {
	if !s.send(appendPacket(nil, 0, greeting())) {
		return
	}
	if _, ok := s.packet(); !ok {
		return
	}
	if !s.send(appendPacket(nil, 2, []byte{isOK, 0, 0, 2, 0, 0, 0})) {
		return
	}
	ok := appendPacket(nil, 1, fakeOK)
	for {
		body, more := s.packet()
		if !more || len(body) == 0 || body[0] == 0x01 { // COM_QUIT
			return
		}
		s.f.Wait()
		s.answered++
		if s.f.CloseAfter > 0 && s.answered > s.f.CloseAfter {
			return
		}
		if !s.send(s.answer(body, ok)) {
			return
		}
		s.f.Answered.Add(1)
	}
}

func (s *fakeSession) answer(body, ok []byte) []byte {
	switch body[0] {
	case comPrepare:
		return s.prepare(body[1:])
	case comExecute:
		if len(body) < 5 {
			return nil
		}
		n := int(binary.LittleEndian.Uint32(body[1:])) - 1
		if n >= 0 && n < len(s.prepared) && s.prepared[n] {
			return s.f.binary
		}
	case comQuery:
		if fakeRows(body[1:]) {
			return s.f.text
		}
	}
	return ok
}

func (s *fakeSession) prepare(query []byte) []byte {
	rows := fakeRows(query)
	s.prepared = append(s.prepared, rows)
	params := bytes.Count(query, []byte("?"))
	columns := 0
	if rows {
		columns = len(s.f.Row)
	}
	head := []byte{isOK}
	head = binary.LittleEndian.AppendUint32(head, uint32(len(s.prepared)))
	head = append(head, byte(columns), 0, byte(params), byte(params>>8), 0, 0, 0)
	out := appendPacket(nil, 1, head)
	for i := range params {
		out = appendPacket(out, byte(2+i), fakeColumn)
	}
	if rows {
		out = append(out, s.f.defined...)
	}
	return out
}

func fakeRows(query []byte) bool {
	return len(query) >= 6 && bytes.EqualFold(query[:6], []byte("select"))
}

func (s *fakeSession) send(out []byte) bool {
	_, err := s.conn.Write(out)
	return err == nil
}

// packet reads one packet: clients wait for an answer before the next one.
func (s *fakeSession) packet() ([]byte, bool) {
	s.have = 0
	for {
		if s.have >= header {
			n := int(s.in[0]) | int(s.in[1])<<8 | int(s.in[2])<<16
			if header+n > len(s.in) {
				s.in = append(s.in, make([]byte, n)...)
			}
			if s.have >= header+n {
				return s.in[header : header+n], true
			}
		}
		n, err := s.conn.Read(s.in[s.have:])
		if err != nil {
			return nil, false
		}
		s.have += n
	}
}
