package edit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"unicode/utf8"
)

// ErrDrifted says that the lines a splice wrote are not there any more.
var ErrDrifted = errors.New("the lines were changed since")

// Splice is what an edit changed in a text: whole lines. It holds enough to
// take the change back, also when other lines were changed since.
type Splice struct {
	At     int    `json:"at"`     // byte at which the lines begin
	Old    Bytes  `json:"old"`    // the lines before; empty for an insertion
	New    Bytes  `json:"new"`    // the lines after
	Above  Bytes  `json:"above"`  // the line above them, to tell equal lines apart
	Before string `json:"before"` // SHA-256 of the whole text before
	After  string `json:"after"`  // SHA-256 of the whole text after
}

// Bytes are shown as text in JSON where they are UTF-8, so that people can
// read a journal, and in base64 where they are not.
type Bytes []byte

// MarshalJSON implements json.Marshaler.
func (b Bytes) MarshalJSON() ([]byte, error) {
	if utf8.Valid(b) {
		return json.Marshal(string(b))
	}
	return json.Marshal(map[string][]byte{"base64": b})
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bytes) UnmarshalJSON(text []byte) error {
	var s string
	if err := json.Unmarshal(text, &s); err == nil {
		*b = Bytes(s)
		return nil
	}
	var raw struct {
		Base64 []byte `json:"base64"`
	}
	err := json.Unmarshal(text, &raw)
	*b = raw.Base64
	return err
}

// Diff gives the one splice that leads from a text to another.
func Diff(before, after []byte) Splice {
	at := 0
	for at < len(before) && at < len(after) && before[at] == after[at] {
		at++
	}
	at = bytes.LastIndexByte(before[:at], '\n') + 1
	end := 0
	for end < len(before)-at && end < len(after)-at && before[len(before)-1-end] == after[len(after)-1-end] {
		end++
	}
	for end > 0 && !(lineStart(before, len(before)-end) && lineStart(after, len(after)-end)) {
		end--
	}
	above := before[:at]
	above = above[bytes.LastIndexByte(bytes.TrimSuffix(above, []byte("\n")), '\n')+1:]
	return Splice{At: at, Old: slices.Clone(before[at : len(before)-end]), New: slices.Clone(after[at : len(after)-end]),
		Above: slices.Clone(above), Before: sum(before), After: sum(after)}
}

func lineStart(text []byte, at int) bool { return at == 0 || text[at-1] == '\n' }

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// Revert takes the splice back. Of the text as the edit left it, it gives the
// bytes before the edit; of the text before, the same. Where others have
// changed the text since it puts the old lines in the place of the new ones,
// if those are still there, and otherwise gives ErrDrifted.
func (s Splice) Revert(now []byte) ([]byte, error) {
	switch sum(now) {
	case s.Before:
		return now, nil
	case s.After:
		return s.put(now, s.At)
	}
	at, err := s.find(now)
	if err != nil {
		return nil, err
	}
	return s.put(now, at)
}

// put puts the old lines at the place of the new ones.
func (s Splice) put(now []byte, at int) ([]byte, error) {
	if at < 0 || at+len(s.New) > len(now) || !bytes.Equal(now[at:at+len(s.New)], s.New) {
		return nil, ErrDrifted
	}
	return slices.Concat(now[:at], s.Old, now[at+len(s.New):]), nil
}

// find gives the one place where the new lines stand whole. Of several the
// one below the line that stood above counts.
func (s Splice) find(now []byte) (int, error) {
	if len(s.New) == 0 {
		return 0, ErrDrifted
	}
	var places, below []int
	for at := 0; at <= len(now)-len(s.New); at++ {
		i := bytes.Index(now[at:], s.New)
		if i < 0 {
			break
		}
		at += i
		whole := at+len(s.New) == len(now) || s.New[len(s.New)-1] == '\n'
		if (at == 0 || now[at-1] == '\n') && whole {
			places = append(places, at)
			if len(s.Above) > 0 && bytes.HasSuffix(now[:at], s.Above) {
				below = append(below, at)
			}
		}
	}
	switch {
	case len(places) == 1:
		return places[0], nil
	case len(below) == 1:
		return below[0], nil
	}
	return 0, ErrDrifted
}
