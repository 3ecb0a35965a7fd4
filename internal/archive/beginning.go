package archive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"

	"plumb/internal/backup/manifest"
	"plumb/internal/backup/store"
	"plumb/internal/units"
)

// Beginning says where the log of a server begins since its older parts were pruned, and what goes next. It is one
// object for each server, signed by the host that prunes, which acts on no other's.
type Beginning struct {
	Form   int       `json:"form"`
	Server string    `json:"begins"`
	By     string    `json:"by"`             // host that prunes
	Gone   Place     `json:"gone,omitzero"`  // what lies before was removed, or is being removed
	Since  time.Time `json:"since,omitzero"` // that is so, by the clock of the store
	Next   []Step    `json:"next,omitempty"` // what goes when the grace is over, oldest first
}

// Step is a place that was decided on: what lies before it goes when that is older than the grace.
type Step struct {
	Place
	At time.Time `json:"at"` // by the clock of the store
}

// MaxBeginning is how large a beginning can be, in bytes.
const MaxBeginning = 64 << 10

// mostSteps is more than there are when pruned every hour.
const mostSteps = 100

// beginningHead is how a beginning begins, so that none is taken for an entry, nor an entry for one.
const beginningHead = "plumb archive begins: "

// BeginningName is the object that says where the log of a server begins.
func BeginningName(server string) string { return Prefix + server + "/begins" }

// SignBeginning writes a beginning.
func SignBeginning(b Beginning, key note.Signer) ([]byte, error) {
	b.Form = Form
	text, err := json.Marshal(b)
	if err == nil {
		text, err = note.Sign(&note.Note{Text: beginningHead + string(text) + "\n"}, key)
	}
	if err != nil {
		return nil, fmt.Errorf("write where the log of %s begins: %w", b.Server, err)
	}
	return text, nil
}

// OpenBeginning reads a beginning. One that nobody signed of those named is read too, with manifest.ErrStranger.
func OpenBeginning(text []byte, server string, trusted ...note.Verifier) (b Beginning, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("read where the log of %s begins: %w", server, err)
		}
	}()
	n, err := note.Open(text, note.VerifierList(trusted...))
	if stranger, is := errors.AsType[*note.UnverifiedNoteError](err); is && stranger.Note != nil {
		if b, err = parseBeginning(stranger.Note.Text, server); err == nil {
			err = manifest.ErrStranger
		}
		return b, err
	}
	if err != nil {
		return b, err
	}
	return parseBeginning(n.Text, server)
}

func parseBeginning(text, server string) (b Beginning, err error) {
	rest, is := strings.CutPrefix(text, beginningHead)
	if !is {
		return b, errors.New("it is something else")
	}
	if err := manifest.Decode([]byte(rest), "it", Form, &b); err != nil {
		return Beginning{}, err
	}
	if b.Server != server { // of another server, put here by who may write to the store
		return Beginning{}, fmt.Errorf("it is that of %.80q", b.Server)
	}
	for i, s := range b.Next {
		if s.Key == "" || i > 0 && s.Key <= b.Next[i-1].Key {
			return Beginning{}, errors.New("its steps are not in order")
		}
	}
	return b, nil
}

// Beginning reads where the log of a server begins, as somebody signed it who is trusted; it is zero where nothing was
// pruned.
func (s Shelf) Beginning(ctx context.Context, server string) (Beginning, error) {
	text, _, err := s.Store.Get(ctx, BeginningName(server), make([]byte, MaxBeginning))
	if errors.Is(err, store.ErrNotFound) {
		return Beginning{}, nil
	}
	if err != nil {
		return Beginning{}, fmt.Errorf("read where the log of %s begins: %w", server, err)
	}
	return manifest.Believe(s.Trust, s.Retired, func(keys ...note.Verifier) (Beginning, time.Time, error) {
		b, err := OpenBeginning(text, server, keys...)
		return b, b.signed(), err
	})
}

// signed is when a beginning was signed: as late as the last that it says.
func (b Beginning) signed() time.Time {
	at := b.Since
	for _, s := range b.Next {
		if s.At.After(at) {
			at = s.At
		}
	}
	return at
}

// Pruned is the error of who asks for what was pruned.
func (b Beginning) Pruned() error {
	return fmt.Errorf("what lay before %s in the log of %s was pruned at %s: no backup that was kept began there", b.Gone.Text, b.Server, units.Moment(b.Since))
}

// Ripe gives the last place of which it was decided longer ago than the grace that what lies before it goes; that of
// what is gone already when there is no later one.
func (b Beginning) Ripe(now time.Time, grace time.Duration) Place {
	at := b.Gone
	for _, s := range b.Next {
		if now.Sub(s.At) > grace && s.Key > at.Key {
			at = s.Place
		}
	}
	return at
}

// Then gives what is to be written when what lies before gone goes now, and what lies before next when the grace is
// over. What was decided by a clock that is still to come is decided anew.
func (b Beginning) Then(gone, next Place, now time.Time, slack time.Duration) Beginning {
	if gone.Key > b.Gone.Key {
		b.Gone, b.Since = gone, now
	}
	var steps []Step
	last := b.Gone.Key
	for _, s := range b.Next {
		if s.Key > last && !s.At.After(now.Add(slack)) && len(steps) < mostSteps-1 {
			steps, last = append(steps, s), s.Key
		}
	}
	if next.Key > last {
		steps = append(steps, Step{next, now})
	}
	b.Next = steps
	return b
}
