package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// check says what is wrong with a manifest. A host that is trusted signed it, but a fault of the one
// that writes must not be one of the one that reads.
func (m *Manifest) check() error {
	switch {
	case m.Form != Form:
		return fmt.Errorf("form %d", m.Form)
	case !IsID(m.ID):
		return fmt.Errorf("its id is %q", m.ID)
	case len(m.Streams) == 0 || len(m.Streams) > maxStreams:
		return fmt.Errorf("it has %d streams", len(m.Streams))
	}
	parts := 0
	for i, s := range m.Streams {
		if err := s.check(); err != nil {
			return fmt.Errorf("stream %d (%s): %w", i, s.Name, err)
		}
		parts += len(s.Parts)
	}
	if parts > maxParts {
		return fmt.Errorf("it has %d parts, and %d is the most", parts, maxParts)
	}
	return nil
}

func (s *Stream) check() error {
	if s.Chunk <= 0 || s.Chunk > maxChunk || s.Bytes < 0 {
		return fmt.Errorf("%d bytes in chunks of %d", s.Bytes, s.Chunk)
	}
	if s.Base != nil && (!IsID(s.Base.Backup) || s.Base.GUID == "") {
		return fmt.Errorf("its base is %q of backup %q", s.Base.GUID, s.Base.Backup)
	}
	chunks := s.Chunks()
	for i, p := range s.Parts {
		full := i < len(s.Parts)-1
		if !isSHA256(p.SHA256) || p.Chunks < 1 || p.Chunks > PerPart || full && p.Chunks != PerPart {
			return fmt.Errorf("part %d has %d chunks and the hash %q", i, p.Chunks, p.SHA256)
		}
		chunks -= int64(p.Chunks)
	}
	if chunks != 0 {
		return fmt.Errorf("its parts do not hold %d bytes", s.Bytes)
	}
	return nil
}

// WritePart makes the object that lists some chunks, and the line that the manifest has of it.
func WritePart(chunks []Chunk) ([]byte, Part, error) {
	text, err := json.Marshal(chunks)
	if err != nil {
		return nil, Part{}, fmt.Errorf("write a list of chunks: %w", err)
	}
	return text, Part{Chunks: len(chunks), SHA256: hash(text)}, nil
}

// ReadPart reads the i-th part of a stream, if it is the one that the manifest means.
func (s *Stream) ReadPart(i int, text []byte) ([]Chunk, error) {
	if got := hash(text); got != s.Parts[i].SHA256 {
		return nil, fmt.Errorf("read list %d of chunks: it is not the one that the manifest names", i)
	}
	var chunks []Chunk
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&chunks); err != nil {
		return nil, fmt.Errorf("read list %d of chunks: %w", i, err)
	}
	if len(chunks) != s.Parts[i].Chunks {
		return nil, fmt.Errorf("read list %d of chunks: it has %d, and was to have %d", i, len(chunks), s.Parts[i].Chunks)
	}
	for n, c := range chunks {
		want := min(s.Chunk, s.Bytes-(int64(i)*PerPart+int64(n))*s.Chunk)
		if c.Plain != want || c.Size <= 0 || c.Size > 2*maxChunk || !isSHA256(c.SHA256) {
			return nil, fmt.Errorf("read list %d of chunks: chunk %d holds %d of %d bytes in an object of %d with the hash %q", i, n, c.Plain, want, c.Size, c.SHA256)
		}
	}
	return chunks, nil
}

// Check tells whether an object is the chunk that is meant.
func (c Chunk) Check(object []byte) error {
	if int64(len(object)) != c.Size {
		return fmt.Errorf("it has %d bytes, and was to have %d", len(object), c.Size)
	}
	if hash(object) != c.SHA256 {
		return errors.New("its SHA-256 is not the one recorded when it was made")
	}
	return nil
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func isSHA256(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == sha256.Size && strings.ToLower(s) == s
}

// idTime is how an id begins: sorted by name, backups are sorted by time.
const idTime = "20060102T150405Z"

// Ahead is how far a name in the store may lie before a clock and still be one that a new backup is named after. One beyond that was
// named by a clock that was wrong, or by somebody who wants ours to be.
const Ahead = 48 * time.Hour

// NewID names a backup. The word makes two of one second two.
func NewID(at time.Time, word string) string { return at.UTC().Format(idTime) + "-" + word }

// IsID tells whether a text can be the name of a backup.
func IsID(id string) bool {
	at, word, _ := strings.Cut(id, "-")
	_, err := time.Parse(idTime, at)
	return err == nil && len(word) >= 4 && len(word) <= 32 && strings.Trim(word, "0123456789abcdef") == ""
}

// Made tells when a backup was named; the zero time of what is no name.
func Made(id string) time.Time {
	at, _, _ := strings.Cut(id, "-")
	made, err := time.Parse(idTime, at)
	if err != nil || !IsID(id) {
		return time.Time{}
	}
	return made
}
