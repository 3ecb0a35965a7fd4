// Package journal is the form of the files in which Plumb writes down what it
// is about to change, before it changes it: records, one a line, each with a
// checksum and its number. It does no I/O; change appends what a Writer gives
// and reads files back with Read.
//
// A line is the CRC-32C of the rest in hexadecimal, a blank, and one JSON
// object. A machine that dies while a line is written leaves a torn one. That
// is no damage: what a torn line announced was not begun. The next writer ends
// it with a newline and takes its number again.
package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"time"
)

// Record is one entry.
type Record struct {
	N    int             `json:"n"`    // 1, 2, 3 ... without gaps
	At   time.Time       `json:"at"`   // when it was written
	Kind string          `json:"kind"` // what Body is: a word of the writer's
	Body json.RawMessage `json:"body,omitempty"`
}

// Log is what a file holds.
type Log struct {
	Records []Record
	Torn    bool // the last line lacks its newline, and perhaps more
}

// Read reads a file. It fails when anything but torn lines is wrong: a
// record that is missing or changed makes the rest worthless.
func Read(text []byte) (Log, error) {
	var log Log
	for number := 1; len(text) > 0; number++ {
		line, rest, whole := bytes.Cut(text, []byte("\n"))
		text = rest
		log.Torn = !whole
		r, err := decode(line)
		if err != nil { // torn, unless a later record shows that one is missing
			continue
		}
		if r.N > 0 && r.N == len(log.Records) { // the disk said that it had not kept the one before
			log.Records[r.N-1] = r
			continue
		}
		if r.N != len(log.Records)+1 {
			return log, fmt.Errorf("line %d: record %d follows record %d: the file is damaged", number, r.N, len(log.Records))
		}
		log.Records = append(log.Records, r)
	}
	return log, nil
}

func decode(line []byte) (Record, error) {
	sum, body, ok := bytes.Cut(line, []byte(" "))
	if !ok || len(sum) != 8 {
		return Record{}, errors.New("no checksum")
	}
	want, err := strconv.ParseUint(string(sum), 16, 32)
	if err != nil || uint32(want) != checksum(body) {
		return Record{}, errors.New("wrong checksum")
	}
	var r Record
	err = json.Unmarshal(body, &r)
	return r, err
}

// Append makes the bytes that add a record to what was read, and adds it.
func (l *Log) Append(at time.Time, kind string, body any) ([]byte, error) {
	inner, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("write down %s: %w", kind, err)
	}
	r := Record{N: len(l.Records) + 1, At: at.UTC().Truncate(time.Millisecond), Kind: kind, Body: inner}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("write down %s: %w", kind, err)
	}
	var out bytes.Buffer
	if l.Torn {
		out.WriteByte('\n')
	}
	fmt.Fprintf(&out, "%08x %s\n", checksum(text), text)
	l.Records, l.Torn = append(l.Records, r), false
	return out.Bytes(), nil
}

// Drop takes back the last record, whose bytes could not be written, or not
// all of them: a disk can be full in the middle of a line.
func (l *Log) Drop() { l.Records, l.Torn = l.Records[:len(l.Records)-1], true }

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
