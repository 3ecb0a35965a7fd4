package tape

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

const (
	hintAgain   = "copy the tape again, or take a new one with `plumb capture`"
	hintForeign = "a tape is made by `plumb capture`; its first line begins with {\"plumb_tape\":"
	hintNewer   = "read it with a newer Plumb"
)

// Read reads a tape, plain or compressed with gzip. name is only used in
// errors, which are of type *Error.
func Read(r io.Reader, name string) (*Tape, error) {
	buffered := bufio.NewReaderSize(r, 64<<10)
	magic, err := buffered.Peek(2)
	if err == nil && bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		plain, err := gzip.NewReader(buffered)
		if err != nil {
			return nil, &Error{Name: name, What: "cannot be decompressed", Hint: hintAgain, Err: err}
		}
		buffered = bufio.NewReaderSize(plain, 64<<10)
	}
	read := reader{name: name, in: buffered, hash: sha256.New()}
	return read.all()
}

// reader reads line by line, so that a file of a wrong kind or size is given
// up at once.
type reader struct {
	name  string
	in    *bufio.Reader
	hash  hash.Hash // of the lines before the present one
	line  int       // number of the present line
	total int64     // bytes so far
	long  []byte    // for lines longer than the buffer
	held  int64     // bytes that the entries take in memory
}

func (r *reader) all() (*Tape, error) {
	t := &Tape{}
	if err := r.header(t); err != nil {
		return nil, err
	}
	for {
		line, err := r.next()
		if err == io.EOF {
			return nil, r.wrong(hintAgain, "it ends here without its last line: it was cut")
		}
		if err != nil {
			return nil, err
		}
		if bytes.HasPrefix(line, []byte(`{"plumb_tape_end":`)) {
			return t, r.trailer(t, line)
		}
		r.hash.Write(line)
		entry, err := parseEntry(line)
		if err != nil {
			return nil, r.wrong(hintAgain, "%v", err)
		}
		if r.held += EntryBytes + int64(len(line)) + 16*int64(len(entry.Of)); r.held > MaxMemory {
			return nil, r.wrong(hintForeign, "its entries take more than the limit of %d bytes of memory", MaxMemory)
		}
		if len(t.Entries) >= MaxEntries {
			return nil, r.wrong(hintForeign, "more entries than the limit of %d", MaxEntries)
		}
		t.Entries = append(t.Entries, entry)
	}
}

func (r *reader) header(t *Tape) error {
	begin, err := r.in.Peek(len(`{"plumb_tape":`))
	if err != nil && err != io.EOF {
		return r.cause(err)
	}
	if !bytes.Equal(begin, []byte(`{"plumb_tape":`)) {
		return &Error{Name: r.name, What: "is not a Plumb tape", Hint: hintForeign}
	}
	line, err := r.next()
	if err != nil && err != io.EOF {
		return err
	}
	var h header
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	} else {
		err = json.Unmarshal(line, &h)
	}
	if err != nil {
		return r.wrong(hintAgain, "the header cannot be read: %v", err)
	}
	if h.Version > Version {
		return r.wrong(hintNewer, "format %d is newer than this Plumb, which reads up to %d", h.Version, Version)
	}
	if h.Version < 1 {
		return r.wrong(hintAgain, "there is no format %d", h.Version)
	}
	r.hash.Write(line)
	t.About = h.About
	return nil
}

func (r *reader) trailer(t *Tape, line []byte) error {
	var end trailer
	if err := json.Unmarshal(line, &end); err != nil {
		return r.wrong(hintAgain, "the last line cannot be read: %v", err)
	}
	if end.Entries != len(t.Entries) {
		return r.wrong(hintAgain, "it had %d entries when it was written, but has %d now", end.Entries, len(t.Entries))
	}
	if end.SHA256 != hex.EncodeToString(r.hash.Sum(nil)) {
		return r.wrong(hintAgain, "it is not as it was written: the checksum differs")
	}
	if _, err := r.next(); err != io.EOF {
		return r.wrong(hintAgain, "something follows its last line")
	}
	return nil
}

// next reads one line with its newline. It is valid until the next call. A
// line without a newline at the end of the file was cut; only the trailer may
// lack it.
func (r *reader) next() ([]byte, error) {
	r.long = r.long[:0]
	r.line++
	for {
		part, err := r.in.ReadSlice('\n')
		r.total += int64(len(part))
		if len(r.long)+len(part) > MaxLineBytes {
			return nil, r.wrong(hintForeign, "longer than the limit of %d bytes", MaxLineBytes)
		}
		if r.total > MaxBytes {
			return nil, r.wrong(hintForeign, "the tape is larger than the limit of %d bytes", int64(MaxBytes))
		}
		if err == nil && len(r.long) == 0 {
			return part, nil
		}
		r.long = append(r.long, part...)
		switch {
		case err == nil:
			return r.long, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case err == io.EOF && len(r.long) == 0:
			r.line--
			return nil, io.EOF
		case err == io.EOF:
			return r.long, nil
		default:
			return nil, r.cause(err)
		}
	}
}

func parseEntry(line []byte) (Entry, error) {
	if e, ok := scanEntry(line); ok {
		return e, nil
	}
	var arguments struct {
		Of json.RawMessage `json:"of"`
	}
	var e Entry
	if err := json.Unmarshal(line, &arguments); err != nil {
		return e, fmt.Errorf("not an entry: %w", err)
	}
	if len(arguments.Of) > MaxOf {
		return e, fmt.Errorf("not an entry: a call with arguments of over %d bytes", MaxOf)
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return e, fmt.Errorf("not an entry: %w", err)
	}
	if e.Op == "" {
		return e, errors.New("not an entry: it has no op")
	}
	return e, nil
}

func (r *reader) wrong(hint, format string, args ...any) error {
	return &Error{Name: r.name, Line: r.line, What: fmt.Sprintf(format, args...), Hint: hint}
}

func (r *reader) cause(err error) error {
	return &Error{Name: r.name, Line: r.line, What: "cannot be read", Hint: hintAgain, Err: err}
}
