package client

import (
	"encoding/binary"
	"fmt"
	"strconv"

	"plumb/internal/load"
)

// statement is a query as it was given, taken apart at its placeholders.
type statement struct {
	query  string
	bytes  []byte   // the same
	pieces []string // the text before, between and after the parameters

	// Set when it is prepared on the server:
	id      uint32
	columns []column       // of its rows, as last told
	kinds   []load.ArgKind // of the parameters, as last sent
}

// parseStatement finds the placeholders: every ? outside strings, quoted
// names and comments.
func parseStatement(query string) *statement {
	s := &statement{query: query, bytes: []byte(query)}
	from := 0
	for i := 0; i < len(query); {
		if n := skipQuoted(query[i:]); n > 0 {
			i += n
			continue
		}
		if query[i] == '?' {
			s.pieces = append(s.pieces, query[from:i])
			from = i + 1
		}
		i++
	}
	s.pieces = append(s.pieces, query[from:])
	return s
}

// params is the number of parameters.
func (s *statement) params() int { return len(s.pieces) - 1 }

// skipQuoted gives the length of the string, quoted name or comment that q
// begins with; 0 where none does. One that does not end reaches to the end of
// the query: the server will say so.
func skipQuoted(q string) int {
	switch {
	case q[0] == '\'' || q[0] == '"' || q[0] == '`':
		for n := 1; n < len(q); n++ {
			switch {
			case q[n] == '\\' && q[0] != '`':
				n++
			case q[n] == q[0]: // a doubled one begins a string that follows at once
				return n + 1
			}
		}
		return len(q)
	case q[0] == '#', len(q) > 2 && q[:2] == "--" && (q[2] == ' ' || q[2] == '\t' || q[2] == '\n'):
		for n := range len(q) {
			if q[n] == '\n' {
				return n
			}
		}
		return len(q)
	case len(q) > 1 && q[:2] == "/*":
		for n := 2; n+1 < len(q); n++ {
			if q[n:n+2] == "*/" {
				return n + 2
			}
		}
		return len(q)
	}
	return 0
}

// prepare makes a statement ready on the server.
func (s *session) prepare(st *statement) error {
	s.query = st.bytes
	s.out = append(append(s.out[:0], 0, 0, 0, 0, comPrepare), st.query...)
	if err := s.ask(); err != nil {
		return err
	}
	return s.judge(s.readPrepared(st))
}

func (s *session) readPrepared(st *statement) error {
	body, err := s.packet()
	switch {
	case err != nil:
		return err
	case len(body) > 0 && body[0] == isError:
		return s.fault(body)
	case len(body) < 12 || body[0] != isOK:
		return errForeign
	}
	st.id = binary.LittleEndian.Uint32(body[1:])
	columns := int(binary.LittleEndian.Uint16(body[5:]))
	params := int(binary.LittleEndian.Uint16(body[7:]))
	for range params {
		if _, err := s.packet(); err != nil {
			return err
		}
	}
	if params > 0 {
		if err := s.skipEOF(); err != nil {
			return err
		}
	}
	if params != st.params() {
		return &load.Failure{Doing: "prepare " + load.Short(st.query),
			Message: fmt.Sprintf("the server sees %d parameters where %d were meant", params, st.params())}
	}
	if columns == 0 {
		return nil
	}
	return s.readColumns(columns, true, st)
}

// Types of parameters.
const (
	typeNull     = 0x06
	typeLongLong = 0x08
	typeString   = 0xfd
)

// appendCall appends the request to execute a prepared statement. The types
// of the parameters are sent when they differ from those of the last call.
func (s *statement) appendCall(out []byte, args []load.Arg) []byte {
	out = append(out, comExecute)
	out = binary.LittleEndian.AppendUint32(out, s.id)
	out = append(out, 0, 1, 0, 0, 0) // no cursor; one execution
	if len(args) == 0 {
		return out
	}
	nulls := len(out)
	for range (len(args) + 7) / 8 {
		out = append(out, 0)
	}
	out = s.appendTypes(out, args)
	for i, a := range args {
		switch a.Kind {
		case load.Number:
			out = binary.LittleEndian.AppendUint64(out, uint64(a.Num))
		case load.String:
			out = append(appendLength(out, len(a.Str)), a.Str...)
		default:
			out[nulls+i/8] |= 1 << (i % 8)
		}
	}
	return out
}

func (s *statement) appendTypes(out []byte, args []load.Arg) []byte {
	same := len(s.kinds) == len(args)
	for i := 0; same && i < len(args); i++ {
		same = s.kinds[i] == args[i].Kind
	}
	if same {
		return append(out, 0)
	}
	out = append(out, 1)
	s.kinds = s.kinds[:0]
	for _, a := range args {
		s.kinds = append(s.kinds, a.Kind)
		switch a.Kind {
		case load.Number:
			out = append(out, typeLongLong, 0)
		case load.String:
			out = append(out, typeString, 0)
		default:
			out = append(out, typeNull, 0)
		}
	}
	return out
}

// appendLength appends a length-encoded number.
func appendLength(out []byte, n int) []byte {
	switch {
	case n < 251:
		return append(out, byte(n))
	case n < 1<<16:
		return append(out, 0xfc, byte(n), byte(n>>8))
	case n < 1<<24:
		return append(out, 0xfd, byte(n), byte(n>>8), byte(n>>16))
	}
	return binary.LittleEndian.AppendUint64(append(out, 0xfe), uint64(n))
}

// appendText appends the query with the parameters written into it.
func (s *statement) appendText(out []byte, args []load.Arg, plainSlash bool) []byte {
	for i, a := range args {
		out = append(out, s.pieces[i]...)
		switch a.Kind {
		case load.Number:
			out = strconv.AppendInt(out, a.Num, 10)
		case load.String:
			out = appendLiteral(out, a.Str, plainSlash)
		default:
			out = append(out, "NULL"...)
		}
	}
	return append(out, s.pieces[len(args)]...)
}

// appendLiteral quotes a text.
func appendLiteral(out, text []byte, plainSlash bool) []byte {
	out = append(out, '\'')
	for _, c := range text {
		if c == '\'' || c == '\\' && !plainSlash {
			out = append(out, c)
		}
		out = append(out, c)
	}
	return append(out, '\'')
}
