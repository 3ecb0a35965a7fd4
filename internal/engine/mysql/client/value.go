package client

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
)

// Types of columns whose binary form is not a text with its length.
const (
	colTiny      = 0x01
	colShort     = 0x02
	colLong      = 0x03
	colFloat     = 0x04
	colDouble    = 0x05
	colNull      = 0x06
	colTimestamp = 0x07
	colLongLong  = 0x08
	colInt24     = 0x09
	colDate      = 0x0a
	colTime      = 0x0b
	colDatetime  = 0x0c
	colYear      = 0x0d
)

// Int implements load.Session.
func (s *session) Int(i int) int64 {
	value, c, ok := s.cell(i)
	if !ok {
		return 0
	}
	if n, whole := number(value, c, s.binary); whole {
		return n
	}
	return parseInt(s.text(value, c))
}

// Bytes implements load.Session.
func (s *session) Bytes(i int) []byte {
	value, c, ok := s.cell(i)
	if !ok {
		return nil
	}
	return s.text(value, c)
}

// cell finds a column in the row; ok is false for NULL and for what is not
// there.
func (s *session) cell(i int) (value []byte, c column, ok bool) {
	if i < 0 || i >= len(s.columns) || len(s.row) == 0 {
		return nil, c, false
	}
	if !s.binary {
		value, ok = textCell(s.row, i)
		return value, s.columns[i], ok
	}
	value, ok = binaryCell(s.row, s.columns, i)
	return value, s.columns[i], ok
}

func textCell(row []byte, i int) (value []byte, ok bool) {
	for ; len(row) > 0; i-- {
		if row[0] == isLocal { // NULL
			if i == 0 {
				return nil, false
			}
			row = row[1:]
			continue
		}
		n, rest, ok := parseLength(row)
		if !ok || n > uint64(len(rest)) {
			return nil, false
		}
		if i == 0 {
			return rest[:n:n], true
		}
		row = rest[n:]
	}
	return nil, false
}

// binaryCell walks over the columns before: each is as long as its type says.
func binaryCell(row []byte, columns []column, i int) (value []byte, ok bool) {
	bitmap := (len(columns) + 9) / 8
	if len(row) < 1+bitmap {
		return nil, false
	}
	nulls, rest := row[1:1+bitmap], row[1+bitmap:]
	for k := 0; k <= i; k++ {
		if nulls[(k+2)/8]&(1<<((k+2)%8)) != 0 {
			if k == i {
				return nil, false
			}
			continue
		}
		size := width(columns[k].kind)
		if size < 0 {
			n, after, ok := parseLength(rest)
			if !ok || n > uint64(len(after)) {
				return nil, false
			}
			rest, size = after, int(n)
		}
		if size > len(rest) {
			return nil, false
		}
		if k == i {
			return rest[:size:size], true
		}
		rest = rest[size:]
	}
	return nil, false
}

// width is the number of bytes of a type in the binary protocol; -1 for one
// with its length before it, as texts, decimals, dates and times have.
func width(kind byte) int {
	switch kind {
	case colTiny:
		return 1
	case colShort, colYear:
		return 2
	case colLong, colInt24, colFloat:
		return 4
	case colLongLong, colDouble:
		return 8
	case colNull:
		return 0
	}
	return -1
}

// number reads a whole number of the binary protocol; false for other types.
func number(value []byte, c column, binaryRow bool) (n int64, whole bool) {
	if !binaryRow {
		return 0, false
	}
	switch {
	case c.kind == colTiny && c.unsigned:
		return int64(value[0]), true
	case c.kind == colTiny:
		return int64(int8(value[0])), true
	case (c.kind == colShort || c.kind == colYear) && c.unsigned:
		return int64(binary.LittleEndian.Uint16(value)), true
	case c.kind == colShort || c.kind == colYear:
		return int64(int16(binary.LittleEndian.Uint16(value))), true
	case (c.kind == colLong || c.kind == colInt24) && c.unsigned:
		return int64(binary.LittleEndian.Uint32(value)), true
	case c.kind == colLong || c.kind == colInt24:
		return int64(int32(binary.LittleEndian.Uint32(value))), true
	case c.kind == colLongLong:
		return int64(binary.LittleEndian.Uint64(value)), true
	}
	return 0, false
}

// text gives a value as the text protocol does. What it makes is in scratch.
func (s *session) text(value []byte, c column) []byte {
	if !s.binary {
		return value
	}
	from := len(s.scratch)
	switch c.kind {
	case colLongLong:
		if c.unsigned {
			s.scratch = strconv.AppendUint(s.scratch, binary.LittleEndian.Uint64(value), 10)
			return s.scratch[from:]
		}
	case colFloat:
		s.scratch = appendReal(s.scratch, float64(math.Float32frombits(binary.LittleEndian.Uint32(value))), true, int(c.decimals))
		return s.scratch[from:]
	case colDouble:
		s.scratch = appendReal(s.scratch, math.Float64frombits(binary.LittleEndian.Uint64(value)), false, int(c.decimals))
		return s.scratch[from:]
	case colDate, colDatetime, colTimestamp:
		s.scratch = appendDate(s.scratch, value, c.kind == colDate, c.decimals)
		return s.scratch[from:]
	case colTime:
		s.scratch = appendTime(s.scratch, value, c.decimals)
		return s.scratch[from:]
	}
	n, whole := number(value, c, true)
	switch {
	case !whole:
		return value
	case c.kind == colYear:
		s.scratch = appendDigits(s.scratch, int(n), 4)
		return s.scratch[from:]
	}
	s.scratch = strconv.AppendInt(s.scratch, n, 10)
	return s.scratch[from:]
}

// appendDate writes year, month, day and, when they are there, hour, minute,
// second and microseconds.
func appendDate(out, v []byte, dateOnly bool, decimals byte) []byte {
	var f [11]byte
	copy(f[:], v)
	out = appendDigits(out, int(binary.LittleEndian.Uint16(f[:])), 4)
	out = appendDigits(append(out, '-'), int(f[2]), 2)
	out = appendDigits(append(out, '-'), int(f[3]), 2)
	if dateOnly {
		return out
	}
	out = appendDigits(append(out, ' '), int(f[4]), 2)
	return appendRest(out, f[5], f[6], f[7:11], decimals)
}

// appendTime writes a time of MySQL, which is a span of days too.
func appendTime(out, v []byte, decimals byte) []byte {
	var f [12]byte
	copy(f[:], v)
	if f[0] == 1 {
		out = append(out, '-')
	}
	out = appendDigits(out, int(binary.LittleEndian.Uint32(f[1:]))*24+int(f[5]), 2)
	return appendRest(out, f[6], f[7], f[8:12], decimals)
}

// appendRest writes what a date and a time have in common. The server leaves
// the fraction of the second out where it is 0; its text has it all the same.
func appendRest(out []byte, minute, second byte, micro []byte, decimals byte) []byte {
	out = appendDigits(append(out, ':'), int(minute), 2)
	out = appendDigits(append(out, ':'), int(second), 2)
	if decimals == 0 || decimals > 6 {
		return out
	}
	out = appendDigits(append(out, '.'), int(binary.LittleEndian.Uint32(micro)), 6)
	return out[:len(out)-6+int(decimals)]
}

func appendDigits(out []byte, n, digits int) []byte {
	for limit := 10; digits > 1; digits, limit = digits-1, limit*10 {
		if n < limit {
			for range digits - 1 {
				out = append(out, '0')
			}
			break
		}
	}
	return strconv.AppendInt(out, int64(n), 10)
}

// parseInt reads the whole part of a number in text.
func parseInt(b []byte) (n int64) {
	negative := len(b) > 0 && b[0] == '-'
	if negative {
		b = b[1:]
	}
	if bytes.IndexByte(b, 'e') >= 0 { // a large or small float
		v, _ := strconv.ParseFloat(string(b), 64) // 0 for what is no number
		n, b = int64(v), nil
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			break
		}
		n = n*10 + int64(c-'0')
	}
	if negative {
		return -n
	}
	return n
}
