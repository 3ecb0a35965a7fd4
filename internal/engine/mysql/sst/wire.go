package sst

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
)

// What goes over the connection, from donor to joiner: a line with the proof, a line with a header, and
// with files a tar archive in chunks, each after its length. An empty chunk is the end; the SHA-256 of
// header and archive follows. The joiner answers with one line. What has no end is not whole, however much it is.

// header begins a transfer.
type header struct {
	Version int    `json:"version"`
	State   string `json:"state"`
	Bypass  bool   `json:"bypass,omitempty"`
}

const (
	version  = 1
	longest  = 64 << 10 // bytes of a chunk
	lineSize = 1 << 10
	accepted = "whole"
)

func writeHeader(w io.Writer, h header) ([]byte, error) {
	line, err := json.Marshal(h)
	if err == nil {
		line = append(line, '\n')
		_, err = w.Write(line)
	}
	return line, err
}

// readLine reads one line, which is short.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	return string(line[:len(line)-1]), nil
}

func readHeader(r *bufio.Reader) (h header, s State, line string, err error) {
	line, err = readLine(r)
	if err == nil {
		err = json.Unmarshal([]byte(line), &h)
	}
	if err == nil && h.Version != version {
		err = fmt.Errorf("the donor's plumb speaks version %d of the protocol, and this one version %d", h.Version, version)
	}
	if err == nil {
		s, err = parseState(h.State)
	}
	return h, s, line + "\n", err
}

// sender is the archive on its way out.
type sender struct {
	w    io.Writer
	sum  hash.Hash
	size int64
}

func newSender(w io.Writer, begin []byte) *sender {
	s := &sender{w: w, sum: sha256.New()}
	s.sum.Write(begin)
	return s
}

// Write implements io.Writer.
func (s *sender) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		part := p[:min(len(p), longest)]
		chunk := append(binary.BigEndian.AppendUint32(make([]byte, 0, 4+len(part)), uint32(len(part))), part...)
		if _, err := s.w.Write(chunk); err != nil {
			return n, err
		}
		s.sum.Write(part)
		s.size += int64(len(part))
		n, p = n+len(part), p[len(part):]
	}
	return n, nil
}

// end says that this was all.
func (s *sender) end() error {
	_, err := s.w.Write(s.sum.Sum(make([]byte, 4, 4+sha256.Size)))
	return err
}

var errCut = errors.New("the stream from the donor ended before it was whole")

// receiver is the archive on its way in.
type receiver struct {
	r     io.Reader
	sum   hash.Hash
	left  uint32 // of the chunk
	whole bool   // the end came, and the hash is right
}

func newReceiver(r io.Reader, begin string) *receiver {
	v := &receiver{r: r, sum: sha256.New()}
	io.WriteString(v.sum, begin)
	return v
}

// Read implements io.Reader. It says io.EOF only when all has come as it was sent.
func (v *receiver) Read(p []byte) (int, error) {
	if v.whole {
		return 0, io.EOF
	}
	if v.left == 0 {
		if err := v.next(); err != nil {
			return 0, err
		}
	}
	n, err := v.r.Read(p[:min(len(p), int(v.left))])
	v.left -= uint32(n)
	v.sum.Write(p[:n])
	if err == io.EOF {
		err = errCut
	}
	return n, err
}

func (v *receiver) next() error {
	var size [4]byte
	if _, err := io.ReadFull(v.r, size[:]); err != nil {
		return cut(err)
	}
	v.left = binary.BigEndian.Uint32(size[:])
	if v.left > longest {
		return errors.New("the stream from the donor is damaged")
	}
	if v.left > 0 {
		return nil
	}
	var sum [sha256.Size]byte
	if _, err := io.ReadFull(v.r, sum[:]); err != nil {
		return cut(err)
	}
	if sum != [sha256.Size]byte(v.sum.Sum(nil)) {
		return errors.New("what came from the donor is not what it sent: the hashes differ")
	}
	v.whole = true
	return io.EOF
}

func cut(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errCut
	}
	return fmt.Errorf("%w: %w", errCut, err)
}
