package client

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// longest is the longest message and the longest answer that is read, bytes.
// The server's own limit of a row is 1 GiB.
const longest = 1 << 30

// header is the length of a message's type and length, bytes.
const header = 5

// span is a part of the buffer that holds an answer.
type span struct{ from, to int }

func (s span) of(buf []byte) []byte { return buf[s.from:s.to] }

// answer is what is known of one answer of the server, as offsets into the
// buffer it was read into.
type answer struct {
	parsed   int  // bytes of whole messages, from the start of the buffer
	complete bool // ReadyForQuery came: parsed is the end of the answer
	over     bool // the server said that it ends the session
	status   byte // of the transaction, with ReadyForQuery: I, T or E
	copies   int  // times the server waits for rows of a COPY
	hasRows  bool // rows were described or came
	firstRow int  // offset of the first DataRow, or 0
	affected int64
	fault    span // body of the first ErrorResponse
	tag      span // of the last CommandComplete
	params   span // body of ParameterDescription
}

var errLength = errors.New("a message of impossible length")

// parse goes on through the messages that have arrived, up to the end of the
// answer. Only whole messages are looked at.
func (a *answer) parse(buf []byte) error {
	for !a.complete && !a.over && len(buf)-a.parsed >= header {
		length := binary.BigEndian.Uint32(buf[a.parsed+1:])
		if length < 4 || length > longest {
			return fmt.Errorf("%w: %d", errLength, length)
		}
		end := a.parsed + 1 + int(length)
		if end > len(buf) {
			return nil
		}
		if err := a.message(buf, span{a.parsed + header, end}); err != nil {
			return err
		}
		a.parsed = end
	}
	return nil
}

func (a *answer) message(buf []byte, body span) error {
	switch kind := buf[body.from-header]; kind {
	case 'D': // DataRow
		if a.firstRow == 0 {
			a.firstRow = body.from - header
		}
		a.hasRows = true
	case 'C': // CommandComplete
		a.tag = span{body.from, max(body.from, body.to-1)}
		a.affected = parseTag(a.tag.of(buf))
	case 'Z': // ReadyForQuery
		if body.to-body.from != 1 {
			return fmt.Errorf("%w: ReadyForQuery", errLength)
		}
		a.status, a.complete = buf[body.from], true
	case 'E': // ErrorResponse
		if a.fault == (span{}) {
			a.fault = body
		}
		a.over = a.over || parseFault(body.of(buf)).ends()
	case 'T': // RowDescription
		a.hasRows = true
	case 't': // ParameterDescription
		a.params = body
	case 'G', 'W': // CopyInResponse, CopyBothResponse
		a.copies++
	case '1', '2', '3', 'n', 's', 'I', // ParseComplete, BindComplete, CloseComplete, NoData, PortalSuspended, EmptyQueryResponse
		'N', 'S', 'A', // NoticeResponse, ParameterStatus, NotificationResponse: at any time
		'H', 'd', 'c': // CopyOutResponse, CopyData, CopyDone
	default:
		return fmt.Errorf("a message of unknown type %q", kind)
	}
	return nil
}

// parseTag gives the number of rows a statement changed, from its command
// tag: "INSERT 0 5", "UPDATE 3", and 0 for those that change none.
func parseTag(tag []byte) int64 {
	if len(tag) == 0 {
		return 0
	}
	switch tag[0] {
	case 'I', 'U', 'D': // INSERT, UPDATE, DELETE; not DROP: it has no number
	case 'M', 'C': // MERGE, COPY; not MOVE, nor CREATE
		if !bytes.HasPrefix(tag, []byte("MERGE ")) && !bytes.HasPrefix(tag, []byte("COPY ")) {
			return 0
		}
	default:
		return 0
	}
	return parseInt(tag[bytes.LastIndexByte(tag, ' ')+1:])
}

// parseInt reads a whole number as the server prints it; a fraction is cut
// off, true is 1, and what is no number is 0. A number that does not fit is
// the nearest that does.
func parseInt(text []byte) int64 {
	negative := len(text) > 0 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	if len(text) == 1 && text[0] == 't' {
		return 1
	}
	var n uint64
	for _, c := range text {
		if c < '0' || c > '9' {
			break
		}
		if n > (1<<63-1)/10 {
			n = 1 << 63
			break
		}
		n = 10*n + uint64(c-'0')
	}
	switch {
	case negative && n >= 1<<63:
		return -1 << 63
	case n >= 1<<63:
		return 1<<63 - 1
	case negative:
		return -int64(n)
	}
	return int64(n)
}

// nextRow finds the first DataRow from an offset on and gives its body; false
// after the last.
func (a *answer) nextRow(buf []byte, from int) (body span, ok bool) {
	for a.hasRows && from < a.parsed {
		end := from + 1 + int(binary.BigEndian.Uint32(buf[from+1:]))
		if buf[from] == 'D' {
			return span{from + header, end}, true
		}
		from = end
	}
	return span{}, false
}

// parseColumn gives a column of a DataRow's body; nil for NULL, and for a
// column that it does not have.
func parseColumn(row []byte, column int) []byte {
	if len(row) < 2 || column < 0 || column >= int(binary.BigEndian.Uint16(row)) {
		return nil
	}
	row = row[2:]
	for len(row) >= 4 {
		length := int(int32(binary.BigEndian.Uint32(row)))
		row = row[4:]
		if length > len(row) {
			return nil
		}
		if column == 0 {
			if length < 0 {
				return nil
			}
			return row[:length:length]
		}
		column--
		row = row[max(length, 0):]
	}
	return nil
}

// parseTypes gives the types in the body of a ParameterDescription.
func parseTypes(body []byte) []uint32 {
	if len(body) < 2 {
		return nil
	}
	n := min(int(binary.BigEndian.Uint16(body)), (len(body)-2)/4)
	types := make([]uint32, n)
	for i := range types {
		types[i] = binary.BigEndian.Uint32(body[2+4*i:])
	}
	return types
}
