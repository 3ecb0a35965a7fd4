package client

import (
	"encoding/binary"
	"math"
	"strconv"

	"plumb/internal/load"
)

// Types of parameters that are sent in binary, by their numbers in pg_type.
const (
	typeBytea = 17
	typeInt8  = 20
	typeInt2  = 21
	typeInt4  = 23
)

// executeSync is what ends every call: no wishes for the format of the
// results, which makes them text; Execute of the unnamed portal without a
// limit of rows; Sync.
const executeSync = "\x00\x00" + "E\x00\x00\x00\x09\x00\x00\x00\x00\x00" + "S\x00\x00\x00\x04"

// bindPrefix is what each Bind of a statement begins with: its name, and the
// formats of the parameters, 1 for binary.
func bindPrefix(name string, types []uint32) []byte {
	out := []byte{'B', 0, 0, 0, 0, 0} // the unnamed portal
	out = append(append(out, name...), 0)
	out = binary.BigEndian.AppendUint16(out, uint16(len(types)))
	for _, t := range types {
		format := uint16(0)
		if t == typeBytea || t == typeInt8 || t == typeInt4 || t == typeInt2 {
			format = 1
		}
		out = binary.BigEndian.AppendUint16(out, format)
	}
	return binary.BigEndian.AppendUint16(out, uint16(len(types)))
}

// appendCall appends Bind, Execute and Sync.
func (s *statement) appendCall(out []byte, args []load.Arg) []byte {
	start := len(out)
	out = append(out, s.prefix...)
	formats := len(out) - 2 - 2*len(s.types)
	for i, arg := range args {
		switch arg.Kind {
		case load.Number:
			var asText bool
			if out, asText = appendNumber(out, s.types[i], arg.Num); asText {
				out[formats+2*i+1] = 0
			}
		case load.String:
			if s.types[i] != typeBytea { // also a number that comes as text
				out[formats+2*i+1] = 0
			}
			out = binary.BigEndian.AppendUint32(out, uint32(len(arg.Str)))
			out = append(out, arg.Str...)
		default:
			out = append(out, 0xff, 0xff, 0xff, 0xff)
		}
	}
	binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)+2-start-1))
	return append(out, executeSync...)
}

// appendNumber appends a number as its type wants it. A number outside the
// range of its type goes as text, for the server to refuse it in its words.
func appendNumber(out []byte, kind uint32, n int64) (longer []byte, asText bool) {
	switch {
	case kind == typeInt8:
		out = append(out, 0, 0, 0, 8)
		return binary.BigEndian.AppendUint64(out, uint64(n)), false
	case kind == typeInt4 && n >= math.MinInt32 && n <= math.MaxInt32:
		out = append(out, 0, 0, 0, 4)
		return binary.BigEndian.AppendUint32(out, uint32(n)), false
	case kind == typeInt2 && n >= math.MinInt16 && n <= math.MaxInt16:
		out = append(out, 0, 0, 0, 2)
		return binary.BigEndian.AppendUint16(out, uint16(n)), false
	}
	at := len(out)
	out = strconv.AppendInt(append(out, 0, 0, 0, 0), n, 10)
	binary.BigEndian.PutUint32(out[at:], uint32(len(out)-at-4))
	return out, true
}

// appendText appends a simple query with the parameters written into it. All
// of them go in quotes, also numbers, because then the server finds their
// types as it finds those of parameters.
func (s *statement) appendText(out []byte, args []load.Arg) []byte {
	start := len(out)
	out = append(out, 'Q', 0, 0, 0, 0)
	for i, arg := range args {
		out = append(out, s.pieces[i]...)
		switch arg.Kind {
		case load.Number:
			out = append(strconv.AppendInt(append(out, '\''), arg.Num, 10), '\'')
		case load.String:
			out = appendLiteral(out, arg.Str)
		default:
			out = append(out, "NULL"...)
		}
	}
	out = append(append(out, s.pieces[len(args)]...), 0)
	binary.BigEndian.PutUint32(out[start+1:], uint32(len(out)-start-1))
	return out
}

// appendLiteral quotes a text, with standard_conforming_strings.
func appendLiteral(out, text []byte) []byte {
	out = append(out, '\'')
	for _, c := range text {
		if c == '\'' {
			out = append(out, '\'')
		}
		out = append(out, c)
	}
	return append(out, '\'')
}
