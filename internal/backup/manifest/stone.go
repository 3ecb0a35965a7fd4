package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/hint"
)

// Stone stands where a manifest was, or would be: the backup is being removed, or was never
// ended and is given up. Both have the same name, so that of who commits a backup and who gives it up
// exactly one comes first. It is signed by the host that prunes, which acts on no other's.
type Stone struct {
	Form  int       `json:"form"`
	ID    string    `json:"removed"`
	At    time.Time `json:"at"` // by the clock of the store
	By    string    `json:"by"` // host that decided it
	Why   []string  `json:"why"`
	Going bool      `json:"going,omitempty"` // its objects are being removed: nothing brings it back
	Was   []byte    `json:"-"`               // the manifest that was here; nil for a backup that never ended
}

// stoneHead is how a stone begins, so that none is taken for a manifest, nor a damaged manifest for one.
const stoneHead = "plumb removes this backup: "

// MaxStone is how large a stone can be, in bytes: it holds a manifest.
const MaxStone = MaxSize + 64<<10

// IsStone tells whether what stands in place of a manifest says that it is a stone.
func IsStone(text []byte) bool { return bytes.HasPrefix(text, []byte(stoneHead)) }

// SignStone writes a stone: a line about it, and the manifest as it was.
func SignStone(s Stone, key note.Signer) ([]byte, error) {
	s.Form = Form
	head, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the stone of %s: %w", s.ID, err)
	}
	text := stoneHead + string(head) + "\n" + string(s.Was)
	signed, err := note.Sign(&note.Note{Text: text}, key)
	if err != nil {
		return nil, fmt.Errorf("write the stone of %s: %w", s.ID, err)
	}
	return signed, nil
}

// OpenStone reads the stone of a backup. One that nobody signed of those named is read too, with
// ErrStranger: what it says is no reason for anything but to leave its backup alone.
func OpenStone(text []byte, id string, trusted ...note.Verifier) (Stone, error) {
	if len(text) > MaxStone {
		return Stone{}, fmt.Errorf("read a stone of %d bytes: %d is the most", len(text), MaxStone)
	}
	n, err := note.Open(text, note.VerifierList(trusted...))
	if stranger, is := errors.AsType[*note.UnverifiedNoteError](err); is && stranger.Note != nil {
		s, bad := parseStone(stranger.Note.Text, id)
		if bad == nil {
			bad = fmt.Errorf("read the stone of %s: %w: %s", id, ErrStranger, signers(stranger.Note))
		}
		return s, bad
	}
	if err != nil {
		return Stone{}, fmt.Errorf("read the stone of %s: %w", id, err)
	}
	return parseStone(n.Text, id)
}

func parseStone(text, id string) (s Stone, err error) {
	rest, is := strings.CutPrefix(text, stoneHead)
	head, was, whole := strings.Cut(rest, "\n")
	if !is || !whole {
		return s, fmt.Errorf("read the stone of %s: it is not one", id)
	}
	var form struct {
		Form int `json:"form"`
	}
	if err := json.Unmarshal([]byte(head), &form); err != nil {
		return s, fmt.Errorf("read the stone of %s: %w", id, err)
	}
	if form.Form > Form {
		return s, fmt.Errorf("read the stone of %s: %w", id, hint.Newer("it is a stone", form.Form, Form))
	}
	if err := json.Unmarshal([]byte(head), &s); err != nil {
		return Stone{}, fmt.Errorf("read the stone of %s: %w", id, err)
	}
	if s.ID != id || !IsID(id) { // of another backup, put here by who may write to the store
		return Stone{}, fmt.Errorf("read the stone of %s: it is that of %.80q", id, s.ID)
	}
	if was != "" {
		s.Was = []byte(was)
	}
	return s, nil
}
