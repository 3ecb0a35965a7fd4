package manifest

import (
	"encoding/json"
	"fmt"

	"plumb/internal/hint"
)

// Claim is what a run that makes a backup says of itself while it lives. Its object is written
// again and again, so that its age by the store's clock tells whether the run lives. A claim is
// written only in place of the one that was read: so of a run that goes on, and of who gives it
// up, one alone comes first.
type Claim struct {
	Form    int      `json:"form"`
	ID      string   `json:"claims"`
	Needs   []string `json:"needs,omitempty"` // backups that it builds on
	Beat    string   `json:"beat"`            // another each time, or two claims had one tag
	GivenUp bool     `json:"given_up,omitempty"`
}

// MaxClaim is how large a claim can be, in bytes.
const MaxClaim = 64 << 10

// Write gives the object.
func (c Claim) Write() ([]byte, error) {
	c.Form = Form
	text, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("write the claim of %s: %w", c.ID, err)
	}
	return append(text, '\n'), nil
}

// OpenClaim reads the claim of a backup.
func OpenClaim(text []byte, id string) (c Claim, err error) {
	if err := json.Unmarshal(text, &c); err != nil {
		return Claim{}, fmt.Errorf("read the claim of %s: %w", id, err)
	}
	if c.Form > Form {
		return Claim{}, fmt.Errorf("read the claim of %s: %w", id, hint.Newer("it is a claim", c.Form, Form))
	}
	if c.ID != id {
		return Claim{}, fmt.Errorf("read the claim of %s: it is that of %.80q", id, c.ID)
	}
	return c, nil
}
