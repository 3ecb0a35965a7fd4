package wal

import (
	"errors"
	"fmt"
)

// Head is what a file of the log says of itself.
type Head struct {
	System   uint64 // identifier of the server
	Timeline int    // on which its first page was written
	At, Size uint64 // its place and length
}

// HeadSize is how many bytes of a file are read for it.
const HeadSize = long

// ReadHead reads the beginning of a file.
func ReadHead(b []byte) (h Head, err error) {
	if len(b) < long || order.Uint16(b[2:])&isLong == 0 {
		return h, errors.New("it does not begin as a file of the write-ahead log does")
	}
	h = Head{System: order.Uint64(b[24:]), Timeline: int(order.Uint32(b[4:])), At: order.Uint64(b[8:]), Size: uint64(order.Uint32(b[32:]))}
	if !IsSize(h.Size) || h.At%h.Size != 0 {
		return h, fmt.Errorf("it says that it has %d bytes, and is of %s", h.Size, Text(h.At))
	}
	return h, nil
}

// IsSize tells whether files of the log can have so many bytes.
func IsSize(n uint64) bool { return n >= 1<<20 && n <= 1<<30 && n&(n-1) == 0 }

// Control is what the control file of a server says of where its data stands.
type Control struct {
	System   uint64
	State    State
	Redo     uint64 // where a recovery begins
	Timeline int    // of that place
}

// State is what a server was doing when it wrote its control file.
type State uint32

// Standby tells whether it replayed the log of another.
func (s State) Standby() bool { return s == 2 || s == 5 }

// ControlSize is how many bytes of a control file are read for it.
const ControlSize = 52

// ReadControl reads the beginning of a control file. It is the same from PostgreSQL 11 to 18 (src/include/catalog/pg_control.h).
func ReadControl(b []byte) (c Control, err error) {
	if len(b) < ControlSize {
		return c, errShort
	}
	c = Control{order.Uint64(b), State(order.Uint32(b[16:])), order.Uint64(b[40:]), int(order.Uint32(b[48:]))}
	if c.Redo == 0 || c.Timeline <= 0 || c.State > 6 {
		return c, errors.New("the control file is not understood")
	}
	return c, nil
}

var errShort = errors.New("the control file is too short")

// System reads the identifier of the server from the beginning of its control file.
func System(control []byte) (uint64, error) {
	if len(control) < 8 {
		return 0, errShort
	}
	return order.Uint64(control), nil
}
