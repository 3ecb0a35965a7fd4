// Package manifest is what says of a backup what it is, and which objects it is made of. A
// backup exists when its manifest does: it is written last, and in one piece.
//
// A manifest is a note that is signed with the key of the host that made it, in the form of
// signed notes (golang.org/x/mod/sumdb/note): JSON, an empty line, and a line with the signature.
// What can be encrypted for somebody can be encrypted by anybody, so that only this
// says who made a stream that root will read.
package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/hint"
)

// Form is the version of manifests.
const Form = 1

// Manifest is one backup.
type Manifest struct {
	Form    int               `json:"form"`
	ID      string            `json:"id"`
	Host    string            `json:"host"`             // that made it, as it calls itself
	Server  string            `json:"server,omitempty"` // whose data it holds: "mariadb:3306"
	Point   string            `json:"point,omitempty"`  // of which it was made
	Facts   map[string]string `json:"facts,omitempty"`  // position, version, label of the point; of a base where in the log it begins
	Began   time.Time         `json:"began"`
	Ended   time.Time         `json:"ended"`
	Plumb   string            `json:"plumb"` // version that made it
	Streams []Stream          `json:"streams"`
}

// Taken is when what a backup holds was read: of a point when its snapshots were taken, which can be long before they were sent.
func (m Manifest) Taken() time.Time {
	if taken, err := time.Parse(time.RFC3339Nano, m.Facts["taken"]); err == nil {
		return taken
	}
	return m.Began
}

// Stream is what one producer gave.
type Stream struct {
	Name  string `json:"name"`           // of a dataset, or what the command line called it
	Kind  Kind   `json:"kind"`           //
	Bytes int64  `json:"bytes"`          // of the stream
	Chunk int64  `json:"chunk"`          // bytes of the stream in each chunk but the last
	GUID  string `json:"guid,omitempty"` // of the snapshot
	Base  *Base  `json:"base,omitempty"` // what must be restored before; nil for nothing
	Raw   bool   `json:"raw,omitempty"`  // a stream of an encrypted dataset as it lies on the disk
	Parts []Part `json:"parts"`
}

// Kind is what reads a stream.
type Kind string

// The kinds.
const (
	ZFS     Kind = "zfs"     // zfs receive
	Btrfs   Kind = "btrfs"   // btrfs receive
	Command Kind = "command" // what the person knows who named the command
	Point   Kind = "point"   // a Plumb that starts a copy: what the point says of its server
)

// Base is the stream that another begins at.
type Base struct {
	Backup string `json:"backup"`
	GUID   string `json:"guid"`
}

// Part is a list of chunks, in an object of its own: so a manifest stays small, however
// large the backup is. SHA256 is of that object.
type Part struct {
	Chunks int    `json:"chunks"`
	SHA256 string `json:"sha256"`
}

// Chunk is one object of a stream.
type Chunk struct {
	Plain  int64  `json:"plain"` // bytes of the stream in it
	Size   int64  `json:"size"`  // bytes of the object
	SHA256 string `json:"sha256"`
}

// The limits of what is read.
const (
	PerPart    = 1000     // chunks that one part lists
	MaxSize    = 4 << 20  // bytes of a manifest
	MaxPart    = 1 << 20  // bytes of a part
	maxStreams = 10_000   //
	maxParts   = 20_000   // in all: 20 million chunks
	maxChunk   = 64 << 20 // bytes
)

// Sign writes a manifest.
func Sign(m Manifest, key note.Signer) ([]byte, error) {
	m.Form = Form
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("sign the manifest of %s: %w", m.ID, err)
	}
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return nil, fmt.Errorf("sign the manifest of %s: %w", m.ID, err)
	}
	signed, err := note.Sign(&note.Note{Text: string(text) + "\n"}, key)
	if err != nil {
		return nil, fmt.Errorf("sign the manifest of %s: %w", m.ID, err)
	}
	return signed, nil
}

// ErrStranger is the error of a manifest that nobody signed who is trusted.
var ErrStranger = errors.New("nobody whom this host trusts signed it")

// Open reads a manifest, if somebody signed it who is trusted, and tells who that is.
func Open(text []byte, trusted ...note.Verifier) (m Manifest, by string, err error) {
	if len(text) > MaxSize {
		return m, "", fmt.Errorf("read a manifest of %d bytes: %d is the most", len(text), MaxSize)
	}
	n, err := note.Open(text, note.VerifierList(trusted...))
	if stranger, is := errors.AsType[*note.UnverifiedNoteError](err); is {
		return m, "", hint.With(fmt.Errorf("read a manifest: %w: %s", ErrStranger, signers(stranger.Note)),
			"compare the key with the recovery sheet of the host that made the backup, and give it with --trust")
	}
	if err != nil {
		return m, "", fmt.Errorf("read a manifest: %w", err)
	}
	m, err = parse([]byte(n.Text))
	return m, n.Sigs[0].Name, err
}

// signers names who signed a note, as far as it says: no more of the name than a person reads, since somebody else wrote it.
func signers(n *note.Note) string {
	if n == nil || len(n.UnverifiedSigs) == 0 {
		return "no signature"
	}
	return fmt.Sprintf("%.80s, key %08x", n.UnverifiedSigs[0].Name, n.UnverifiedSigs[0].Hash)
}

// Decode reads what was signed, if it is of a form that is known and says nothing else.
func Decode(text []byte, it string, most int, into any) error {
	var form struct {
		Form int `json:"form"`
	}
	if err := json.Unmarshal(text, &form); err != nil {
		return err
	}
	if form.Form > most {
		return hint.Newer(it, form.Form, most)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

func parse(text []byte) (m Manifest, err error) {
	if err := Decode(text, "it is a manifest", Form, &m); err != nil {
		return m, fmt.Errorf("read a manifest: %w", err)
	}
	if err := m.check(); err != nil {
		return Manifest{}, fmt.Errorf("read the manifest of %q: %w", m.ID, err)
	}
	return m, nil
}
