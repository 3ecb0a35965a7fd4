package client

import (
	"encoding/binary"
	"errors"
)

// header is the length of what precedes each packet: three bytes of length,
// one of sequence.
const header = 4

// longest packet that is not split in several.
const longest = 1<<24 - 1

// Errors of answers that make no sense, or are more than a load reads.
var (
	errShort   = errors.New("the server's answer ends too early")
	errForeign = errors.New("the server's answer is not of its protocol")
	errLong    = errors.New("a row of 16 MiB or more: too long for the client of load")
)

// First bytes of packets.
const (
	isOK    = 0x00
	isLocal = 0xfb
	isEOF   = 0xfe
	isError = 0xff
)

// moreResults is the status flag of an answer that another one follows.
const moreResults = 0x0008

// parseLength reads a length-encoded number and gives what follows it. ok is
// false for NULL and for bytes that are none.
func parseLength(b []byte) (n uint64, rest []byte, ok bool) {
	if len(b) == 0 {
		return 0, nil, false
	}
	var size int
	switch b[0] {
	case 0xfc:
		size = 2
	case 0xfd:
		size = 3
	case 0xfe:
		size = 8
	case 0xfb, 0xff:
		return 0, b, false
	default:
		return uint64(b[0]), b[1:], true
	}
	if len(b) < 1+size {
		return 0, nil, false
	}
	var wide [8]byte
	copy(wide[:], b[1:1+size])
	return binary.LittleEndian.Uint64(wide[:]), b[1+size:], true
}

// outcome is what an OK packet says.
type outcome struct {
	affected int64
	status   uint16
}

// parseOK reads the body of an OK packet, also of one in the place of an EOF.
func parseOK(body []byte) (o outcome, err error) {
	affected, rest, ok := parseLength(body[1:])
	if !ok {
		return o, errShort
	}
	_, rest, ok = parseLength(rest) // the last inserted id
	if !ok || len(rest) < 4 {
		return o, errShort
	}
	o.affected = int64(affected)
	o.status = binary.LittleEndian.Uint16(rest)
	return o, nil
}

// parseEnd reads the packet that ends rows: an EOF, or an OK in its place.
func parseEnd(body []byte, asOK bool) (o outcome, err error) {
	if asOK {
		return parseOK(body)
	}
	if len(body) < 5 {
		return o, errShort
	}
	o.status = binary.LittleEndian.Uint16(body[3:])
	return o, nil
}

// parseError reads the body of an error packet.
func parseError(body []byte) (code uint16, message []byte) {
	if len(body) < 3 {
		return 0, nil
	}
	code, message = binary.LittleEndian.Uint16(body[1:]), body[3:]
	if len(message) >= 6 && message[0] == '#' { // the SQLSTATE
		message = message[6:]
	}
	return code, message
}

// column is what is needed of a column's definition.
type column struct {
	kind     byte
	unsigned bool
	decimals byte // of a time: digits of the second's fraction; of a float: 31 for as many as it has
}

// parseColumn reads the definition of a column. Its type is in the part of
// fixed length at the end.
func parseColumn(body []byte) (c column, err error) {
	if len(body) < 13 || body[len(body)-13] != 0x0c {
		return c, errForeign
	}
	fixed := body[len(body)-12:]
	return column{kind: fixed[6], unsigned: fixed[7]&0x20 != 0, decimals: fixed[9]}, nil
}
