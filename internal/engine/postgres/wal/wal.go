// Package wal reads the records of PostgreSQL's write-ahead log, 10 and later: as much of them as tells what
// was committed when, and where. Every checksum is looked at, and that each record names the one before it.
package wal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"strings"
	"time"
)

// Record is one entry of the log.
type Record struct {
	At, End   uint64 // its place, and where the next begins
	XID       uint32
	Committed time.Time // zero of what is no commit
	Spaces    bool      // it makes or drops a tablespace
	Sum       uint32    // its checksum, which is also of where the one before it is
}

const (
	short, long   = 24, 40 // headers of a page: of any, and of the first of a file
	head          = 24     // of a record
	mostRecord    = 1 << 30
	isLong        = 2 // flags of a page
	isContinued   = 1
	isOverwritten = 8
	managerLog    = 0 // who wrote a record
	managerXact   = 1
	managerSpace  = 5
	switches      = 0x40 // the rest of the file is empty
)

var (
	errEnd      = errors.New("the log ends here")
	errReplaced = errors.New("the server died in this record")
	castagnoli  = crc32.MakeTable(crc32.Castagnoli)
	order       = binary.NativeEndian
)

// reader gives what is in the pages.
type reader struct {
	r      io.Reader
	at     uint64 // of what comes next
	page   []byte // what is left of the page
	buf    []byte
	size   uint64 // of a file
	magic  uint16
	system uint64
}

// Scan reads files that follow one another, the first of which begins at a place. It gives where the log
// ends, which is no error: a file that is being written goes on with what was in it before. An error of f ends it.
func Scan(r io.Reader, at uint64, system uint64, f func(Record) error) (end uint64, err error) {
	end, _, err = Extent(r, at, system, f)
	return end, err
}

// Extent is Scan that also tells how far there was something of the log: behind the end it can be the beginning of a record.
func Extent(r io.Reader, at uint64, system uint64, f func(Record) error) (end, most uint64, err error) {
	s := &reader{r: r, at: at, buf: make([]byte, 8192), system: system}
	rest, err := s.turn()
	if errors.Is(err, errReplaced) {
		err = nil
	}
	if err == nil && rest > 0 {
		_, err = s.take(int(rest))
	}
	end = s.at
	for prev := uint64(0); err == nil; {
		var rec Record
		if rec, err = s.record(prev); errors.Is(err, errReplaced) {
			err = nil
			continue
		}
		if err == nil {
			prev, end = rec.At, rec.End
			err = f(rec)
		}
	}
	if errors.Is(err, errEnd) {
		err = nil
	}
	return end, s.at, err
}

// turn goes to the next page, and gives how much of it is the rest of a record.
func (s *reader) turn() (rest uint32, err error) {
	if _, err := io.ReadFull(s.r, s.buf); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errEnd
		}
		return 0, err
	}
	flags, n := order.Uint16(s.buf[2:]), short
	if s.magic == 0 {
		if flags&isLong == 0 || order.Uint64(s.buf[24:]) != s.system {
			return 0, fmt.Errorf("the log at %s is that of another server", Text(s.at))
		}
		s.magic, s.size = order.Uint16(s.buf), uint64(order.Uint32(s.buf[32:]))
		if s.size < 1<<20 || s.size&(s.size-1) != 0 || order.Uint32(s.buf[36:]) != uint32(len(s.buf)) {
			return 0, fmt.Errorf("the log at %s has pages or files of an unusual size", Text(s.at))
		}
	}
	if order.Uint16(s.buf) != s.magic || order.Uint64(s.buf[8:]) != s.at {
		return 0, errEnd
	}
	if flags&isLong != 0 {
		n = long
	}
	if flags&isContinued != 0 {
		rest = order.Uint32(s.buf[16:])
	}
	s.page, s.at = s.buf[n:], s.at+uint64(n)
	if flags&isOverwritten != 0 {
		return 0, errReplaced
	}
	return rest, nil
}

// take gives the next bytes, and goes to where a record can begin after them.
func (s *reader) take(n int) ([]byte, error) {
	out := make([]byte, 0, min(n, 64<<10))
	for len(out) < n {
		if len(s.page) == 0 {
			rest, err := s.turn()
			if err == nil && int(rest) != n-len(out) {
				err = errEnd
			}
			if err != nil {
				return nil, err
			}
		}
		part := s.page[:min(n-len(out), len(s.page))]
		out = append(out, part...)
		s.skip(len(part))
	}
	s.skip(min(int(-s.at&7), len(s.page)))
	return out, nil
}

func (s *reader) skip(n int) { s.page, s.at = s.page[n:], s.at+uint64(n) }

// record reads one record.
func (s *reader) record(prev uint64) (rec Record, err error) {
	if len(s.page) == 0 {
		if rest, err := s.turn(); err != nil || rest > 0 {
			return rec, errors.Join(err, endIf(rest > 0))
		}
	}
	rec.At = s.at
	n := order.Uint32(s.page)
	if n < head || n > mostRecord {
		return rec, errEnd
	}
	b, err := s.take(int(n))
	if err != nil {
		return rec, err
	}
	sum := crc32.Update(crc32.Update(0, castagnoli, b[head:]), castagnoli, b[:20])
	if sum != order.Uint32(b[20:]) || prev != 0 && order.Uint64(b[8:]) != prev {
		return rec, errEnd
	}
	rec.XID, rec.Sum = order.Uint32(b[4:]), sum
	info, manager := b[16], b[17]
	rec.Spaces = manager == managerSpace
	if op := info & 0x70; manager == managerXact && (op == 0 || op == 0x30) {
		if rec.Committed, err = committed(b[head:]); err != nil {
			return rec, fmt.Errorf("read the commit at %s: %w", Text(rec.At), err)
		}
	}
	if manager == managerLog && info&0xF0 == switches {
		for s.at%s.size != 0 {
			s.skip(len(s.page))
			if s.at%s.size == 0 {
				break
			}
			if _, err := s.turn(); err != nil { // what follows in the file is zeros, without headers
				if _, err := io.CopyN(io.Discard, s.r, int64(s.size-s.at%s.size)-int64(len(s.buf))); err != nil {
					return rec, errEnd
				}
				s.at += s.size - s.at%s.size
			}
		}
		s.page = nil
	}
	rec.End = s.at
	return rec, nil
}

func endIf(yes bool) error {
	if yes {
		return errEnd
	}
	return nil
}

// committed reads when a transaction was committed: its own data stand behind the headers.
func committed(b []byte) (time.Time, error) {
	for len(b) > 6 {
		n := 0
		switch b[0] {
		case 255:
			n, b = int(b[1]), b[2:]
		case 254:
			n, b = int(order.Uint32(b[1:])), b[5:]
		case 253:
			b = b[3:]
			continue
		case 252:
			b = b[5:]
			continue
		}
		if n < 8 || len(b) != n {
			break
		}
		return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(order.Uint64(b)) * time.Microsecond), nil
	}
	return time.Time{}, errors.New("it is of an unknown form")
}

// Text writes a place as PostgreSQL does: 16/B374D848.
func Text(at uint64) string { return fmt.Sprintf("%X/%X", at>>32, uint32(at)) }

// Place reads what Text writes.
func Place(text string) (at uint64, ok bool) {
	high, low, ok := strings.Cut(text, "/")
	h, err1 := strconv.ParseUint(high, 16, 32)
	l, err2 := strconv.ParseUint(low, 16, 32)
	return h<<32 | l, ok && err1 == nil && err2 == nil
}

// Name is that of the file which holds a place; all files are of one size.
func Name(timeline int, at, size uint64) string {
	return fmt.Sprintf("%08X%08X%08X", timeline, at>>32, uint32(at)/uint32(size))
}
