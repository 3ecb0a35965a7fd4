package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/hint"
)

// Proof says what came of it when a backup was restored and a server started on it. It is signed by the
// host that did so: a proof that anybody could write would let prune remove the last backup that really was proven.
type Proof struct {
	Form int       `json:"form"`
	ID   string    `json:"proof_of"`
	At   time.Time `json:"at"`
	Host string    `json:"host"` // where it was started
	OK   bool      `json:"ok"`
	Why  string    `json:"why,omitempty"` // why it is not OK
}

// MaxProof is how large a proof can be, in bytes.
const MaxProof = 64 << 10

// SignProof writes a proof.
func SignProof(p Proof, key note.Signer) ([]byte, error) {
	p.Form = Form
	text, err := json.Marshal(p)
	if err == nil {
		text, err = note.Sign(&note.Note{Text: string(text) + "\n"}, key)
	}
	if err != nil {
		return nil, fmt.Errorf("write the proof of %s: %w", p.ID, err)
	}
	return text, nil
}

// OpenProof reads the proof of a backup, if somebody signed it who is trusted, and tells who that is.
func OpenProof(text []byte, id string, trusted ...note.Verifier) (p Proof, by string, err error) {
	n, err := note.Open(text, note.VerifierList(trusted...))
	if stranger, is := errors.AsType[*note.UnverifiedNoteError](err); is {
		err = fmt.Errorf("%w: %s", ErrStranger, signers(stranger.Note))
	}
	if err == nil {
		by = n.Sigs[0].Name
		p, err = parseProof([]byte(n.Text), id)
	}
	if err != nil {
		return Proof{}, by, fmt.Errorf("read the proof of %s: %w", id, err)
	}
	return p, by, nil
}

func parseProof(text []byte, id string) (p Proof, err error) {
	if err := json.Unmarshal(text, &p); err != nil {
		return Proof{}, err
	}
	if p.Form > Form {
		return Proof{}, hint.Newer("it is a proof", p.Form, Form)
	}
	if p.ID != id {
		return Proof{}, fmt.Errorf("it is that of %q", p.ID)
	}
	return p, nil
}
