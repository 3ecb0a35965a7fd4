package client

import "plumb/internal/load"

// result is the answer to one statement.
type result struct {
	affected int64
	hasRows  bool
	binary   bool // rows are in the binary protocol
	columns  []column
	next     int // in s.in: where the next row begins
	end      int // in s.in: where the rows end
	row      []byte
	scratch  []byte // texts made of numbers and times
}

// readResult reads one result: an OK, an error, or rows. more says that
// another result follows.
func (s *session) readResult(st *statement) (more bool, err error) {
	body, err := s.packet()
	if err != nil {
		return false, err
	}
	if len(body) == 0 {
		return false, errShort
	}
	switch body[0] {
	case isOK:
		o, err := parseOK(body)
		s.affected, s.hasRows = o.affected, false
		return o.status&moreResults != 0, err
	case isError:
		return false, s.fault(body)
	case isLocal:
		return false, s.refuseFile()
	}
	return s.readRows(st, body)
}

// readRows reads a result with rows; body is the packet before its columns.
func (s *session) readRows(st *statement, body []byte) (more bool, err error) {
	n, rest, ok := parseLength(body)
	if !ok || n > 4096 {
		return false, errForeign
	}
	s.affected, s.hasRows, s.binary = 0, true, st != nil
	told := !s.cached || len(rest) == 0 || rest[0] != 0
	if err := s.readColumns(int(n), told, st); err != nil {
		return false, err
	}
	s.next = s.at
	for {
		start := s.at
		body, err := s.packet()
		if err != nil {
			return false, err
		}
		switch {
		case len(body) == 0:
			return false, errShort
		case body[0] == isError:
			return false, s.fault(body)
		case body[0] == isEOF && (!s.eof || len(body) < 9):
			s.end = start
			o, err := parseEnd(body, !s.eof)
			return o.status&moreResults != 0, err
		}
	}
}

// readColumns reads the definitions of columns, or takes those of the
// prepared statement where the server left them out.
func (s *session) readColumns(n int, told bool, st *statement) error {
	s.columns = s.columns[:0]
	if !told {
		if st == nil || len(st.columns) != n {
			return errForeign
		}
		s.columns = append(s.columns, st.columns...)
		return nil
	}
	for range n {
		body, err := s.packet()
		if err != nil {
			return err
		}
		c, err := parseColumn(body)
		if err != nil {
			return err
		}
		s.columns = append(s.columns, c)
	}
	if st != nil {
		st.columns = append(st.columns[:0], s.columns...)
	}
	return s.skipEOF()
}

// skipEOF reads the packet that old servers end lists with.
func (s *session) skipEOF() error {
	if !s.eof {
		return nil
	}
	body, err := s.packet()
	if err == nil && (len(body) == 0 || body[0] != isEOF) {
		err = errForeign
	}
	return err
}

// refuseFile answers a server that asks for a file of ours: an empty packet
// is an empty file.
func (s *session) refuseFile() error {
	if _, err := s.conn.Write([]byte{0, 0, 0, 2}); err != nil {
		return err
	}
	if _, err := s.packet(); err != nil {
		return err
	}
	return &load.Failure{Doing: load.Short(string(s.query)), Message: "LOAD DATA LOCAL is not for the hot path"}
}

// Next implements load.Session.
func (s *session) Next() bool {
	if s.next >= s.end {
		s.row = nil
		return false
	}
	b := s.in[s.next:]
	n := int(b[0]) | int(b[1])<<8 | int(b[2])<<16
	s.row = b[header : header+n]
	s.next += header + n
	return true
}
