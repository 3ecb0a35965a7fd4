// Package binlog reads the events of a binary log of MariaDB or MySQL: as many of their bytes
// as tell when a transaction was committed, where it stands, and what it is called.
package binlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"strconv"
	"strings"
	"time"
)

// Types of events that are told apart here.
const (
	Query         = 2
	Stop          = 3
	Rotate        = 4
	Format        = 15
	XID           = 16
	GTID          = 33
	NoGTID        = 34 // a transaction of MySQL without one
	PreviousGTIDs = 35 // of MySQL's log before a file
	XA            = 38
	Payload       = 40 // a whole transaction, compressed
	Tagged        = 42 // a GTID with a tag
	GTIDMaria     = 162
	GTIDList      = 163
	encrypted     = 164
	Compressed    = 165 // a statement of MariaDB's
)

// ErrEncrypted says that a log cannot be read without its keys.
var ErrEncrypted = errors.New("it is encrypted")

const (
	header = 19
	kept   = 64 << 10 // of the body of an event
	most   = 2 << 30  // no event is longer
	inUse  = 1        // flag of the first event while the log is being written, and after a crash
)

// Event is one entry of a log.
type Event struct {
	Time    time.Time
	Type    byte
	Server  uint32
	At, End int64  // its place in the file
	Body    []byte // the beginning of it, without its checksum
	summed  bool   // it has one
}

// Scan reads the events of a file, and checks the checksum of each. What ends amid an event is
// io.ErrUnexpectedEOF. An error of f ends it, and is given back.
func Scan(r io.Reader, f func(Event) error) error {
	var magic [4]byte
	if _, err := io.ReadFull(r, magic[:]); err != nil {
		return short(err)
	}
	switch string(magic[:]) {
	case "\xfebin":
	case "\xfdbin":
		return ErrEncrypted
	default:
		return errors.New("it is not a binary log")
	}
	return (&scan{r: r, at: 4}).all(f)
}

// Resume reads the events of a file from a place on at which one begins. ReadHead tells whether they have checksums.
func Resume(r io.Reader, at int64, summed bool, f func(Event) error) error {
	return (&scan{r: r, at: at, summed: summed}).all(f)
}

// ReadHead reads the beginning of a file: whether its events have checksums.
func ReadHead(r io.Reader) (summed bool, err error) {
	err = Scan(r, func(e Event) error {
		if e.Type != Format {
			return errors.New("it does not begin as a binary log does")
		}
		summed = e.summed
		return errHead
	})
	if errors.Is(err, errHead) {
		err = nil
	} else if err == nil {
		err = io.ErrUnexpectedEOF
	}
	return summed, err
}

var errHead = errors.New("the head was read")

// all reads what there is.
func (s *scan) all(f func(Event) error) error {
	for {
		e, err := s.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := f(e); err != nil {
			return err
		}
	}
}

type scan struct {
	r      io.Reader
	at     int64
	summed bool
}

func short(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (s *scan) next() (e Event, err error) {
	var h [header]byte
	if _, err := io.ReadFull(s.r, h[:]); err != nil {
		return e, err
	}
	le := binary.LittleEndian
	size := int64(le.Uint32(h[9:]))
	e = Event{Time: time.Unix(int64(le.Uint32(h[:])), 0).UTC(), Type: h[4], Server: le.Uint32(h[5:]), At: s.at, End: s.at + size}
	if size < header || size > most {
		return e, fmt.Errorf("there is no event at %d", s.at)
	}
	if e.Type == encrypted {
		return e, ErrEncrypted
	}
	sum := crc32.NewIEEE()
	if e.Type == Format {
		h[17] &^= inUse // its checksum was made without
	}
	_, _ = sum.Write(h[:])
	body := bytes.NewBuffer(nil)
	n, err := io.Copy(io.MultiWriter(sum, &limited{body}), io.LimitReader(s.r, size-header))
	if err == nil && n < size-header {
		err = io.ErrUnexpectedEOF
		if says := le.Uint32(h[13:]); says != 0 && says != uint32(e.End) { // it is not cut: how long it is is damaged
			err = fmt.Errorf("the event at %d says that it ends at %d, and is %d bytes long", s.at, says, size)
		}
	}
	if err != nil {
		return e, short(err)
	}
	e.Body = body.Bytes()
	if e.Type == Format {
		if len(e.Body) < 5 || e.Body[len(e.Body)-5] > 1 {
			return e, errors.New("how its checksums are made is not known")
		}
		s.summed = e.Body[len(e.Body)-5] == 1
	}
	if s.summed {
		// The sum of all bytes with their own sum behind them is always the same.
		if n < 4 || sum.Sum32() != residue {
			return e, fmt.Errorf("the checksum of the event at %d is wrong", s.at)
		}
		if n <= kept {
			e.Body = e.Body[:n-4]
		}
	}
	s.at, e.summed = e.End, s.summed
	return e, nil
}

// residue is the CRC-32 of any bytes that are followed by their own, little end first.
const residue = 0x2144df1c

// limited keeps the first bytes.
type limited struct{ b *bytes.Buffer }

// Write implements io.Writer.
func (l *limited) Write(p []byte) (int, error) {
	if room := kept - l.b.Len(); room > 0 {
		l.b.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

// Version is that of the server that wrote a log, of its first event.
func (e Event) Version() string {
	if len(e.Body) < 52 {
		return ""
	}
	return strings.TrimRight(string(e.Body[2:52]), "\x00")
}

// Next is the name of the log that follows, of a Rotate.
func (e Event) Next() string {
	if len(e.Body) < 9 {
		return ""
	}
	return string(e.Body[8:])
}

// Begins tells whether a transaction begins with the event, and gives its GTID where it has one.
func (e Event) Begins() (gtid string, yes bool) {
	le := binary.LittleEndian
	switch {
	case e.Type == GTIDMaria && len(e.Body) >= 12:
		return fmt.Sprintf("%d-%d-%d", le.Uint32(e.Body[8:]), e.Server, le.Uint64(e.Body)), true
	case e.Type == GTID && len(e.Body) >= 25:
		return fmt.Sprintf("%s:%d", uuidText(e.Body[1:1+uuidBytes]), le.Uint64(e.Body[1+uuidBytes:])), true
	case e.Type == Tagged:
		return taggedGTID(e.Body), true
	}
	return "", e.Type == GTIDMaria || e.Type == GTID || e.Type == NoGTID
}

// Several tells of a GTID of MariaDB whether more than one event follows, of which the last is a commit.
func (e Event) Several() bool {
	const alone = 1
	return e.Type == GTIDMaria && len(e.Body) > 12 && e.Body[12]&alone == 0
}

// Amid tells whether an event is a statement of a transaction of several, and so not its end.
func (e Event) Amid() bool {
	_, text := e.Statement()
	return e.Type == Compressed || e.Type == Query && text != "COMMIT" && text != "ROLLBACK" && !strings.HasPrefix(text, "XA ")
}

// List gives the last GTID of each domain and server that MariaDB wrote before a log.
func (e Event) List() (all []string) {
	if len(e.Body) < 4 {
		return nil
	}
	le := binary.LittleEndian
	n := int(le.Uint32(e.Body) & 0x0fffffff)
	for b := e.Body[4:]; n > 0 && len(b) >= 16; b, n = b[16:], n-1 {
		all = append(all, fmt.Sprintf("%d-%d-%d", le.Uint32(b), le.Uint32(b[4:]), le.Uint64(b[8:])))
	}
	return all
}

// Statement gives the database and the text of a statement.
func (e Event) Statement() (db, text string) {
	if e.Type != Query || len(e.Body) < 13 {
		return "", ""
	}
	vars := int(binary.LittleEndian.Uint16(e.Body[11:]))
	n := int(e.Body[8])
	if b := e.Body[13:]; len(b) > vars+n {
		b = b[vars:]
		return string(b[:n]), string(b[n+1:])
	}
	return "", ""
}

// Ends tells whether nothing of a transaction can come after the event.
func (e Event) Ends() bool {
	_, text := e.Statement()
	return e.Type == XID || e.Type == XA || e.Type == Payload || e.Type == Compressed || e.Type == Query && text != "BEGIN" && !strings.HasPrefix(text, "XA START")
}

// Outside tells whether an event is none of a transaction.
func (e Event) Outside() bool {
	switch e.Type {
	case Stop, Rotate, Format, 26, 27, PreviousGTIDs, 161, GTIDList:
		return true
	}
	return false
}

// Follows tells whether the number of a file is the next.
func Follows(a, b string) bool {
	log, n := Number(a)
	same, m := Number(b)
	return n >= 0 && m == n+1 && same == log
}

// Number takes the name of a file apart: bin.000002 is the second of bin, and bin.1000000 comes after bin.999999. It is -1 where there is none.
func Number(file string) (log string, number int64) {
	ext := path.Ext(file)
	n, err := strconv.ParseUint(strings.TrimPrefix(ext, "."), 10, 63)
	if err != nil {
		return strings.TrimSuffix(file, ext), -1
	}
	return strings.TrimSuffix(file, ext), int64(n)
}
