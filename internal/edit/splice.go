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

// ErrDrifted says that the lines a splice wrote are not there any more, or
// that it cannot be told which they are.
var ErrDrifted = errors.New("the lines were changed since")

// Splice is what an edit changed in a text: whole lines. It holds enough to
// take the change back, also when other lines were changed since.
type Splice struct {
	At     int    `json:"at"`              // byte at which the lines begin
	Old    Bytes  `json:"old"`             // the lines before; empty for an insertion
	New    Bytes  `json:"new"`             // the lines after; empty for a deletion
	Above  Bytes  `json:"above"`           // the line above them, to tell equal lines apart
	Below  Bytes  `json:"below,omitempty"` // the line below them
	Twins  int    `json:"twins,omitempty"` // how often the lines after stand elsewhere in the text after
	Before string `json:"before"`          // SHA-256 of the whole text before
	After  string `json:"after"`           // SHA-256 of the whole text after
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
	rest := before[len(before)-end:]
	s := Splice{At: at, Old: slices.Clone(before[at : len(before)-end]), New: slices.Clone(after[at : len(after)-end]),
		Above: slices.Clone(lastLine(before[:at])), Below: slices.Clone(rest[:afterLine(rest, line{})]),
		Before: sum(before), After: sum(after)}
	s.Twins = max(0, len(s.places(after))-1)
	return s
}

func lineStart(text []byte, at int) bool { return at == 0 || text[at-1] == '\n' }

// lastLine gives the last line of a text, with its end.
func lastLine(text []byte) []byte {
	return text[bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n')+1:]
}

func sum(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// Revert takes the splice back. Of the text as the edit left it, it gives the
// bytes before the edit; of the text before, the same. Where others have
// changed the text since it puts the old lines in the place of the new ones,
// if those are still there, and otherwise gives ErrDrifted. It knows nothing
// of what the lines mean: see the function Revert.
func (s Splice) Revert(now []byte) ([]byte, error) {
	switch sum(now) {
	case s.Before:
		return now, nil
	case s.After:
		return s.put(now, span{s.At, s.At + len(s.New)})
	}
	at, err := s.find(now)
	if err != nil {
		return nil, err
	}
	return s.put(now, at)
}

// span is a piece of a text.
type span struct{ from, to int }

// put puts the old lines at the place of the new ones. An old line that was
// the last of its text, without an end, gets one when others follow now.
func (s Splice) put(now []byte, at span) ([]byte, error) {
	if at.from < 0 || at.to < at.from || at.to > len(now) || chomp(now[at.from:at.to]) != chomp(s.New) {
		return nil, ErrDrifted
	}
	old := slices.Clone(s.Old)
	if at.to < len(now) && len(old) > 0 && old[len(old)-1] != '\n' {
		old = append(old, eol(now)...)
	}
	return slices.Concat(now[:at.from], old, now[at.to:]), nil
}

// chomp takes the end of the last line off.
func chomp(text []byte) string {
	return string(bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r")))
}

// find gives the one place where the new lines stand whole. Of several, and
// where the edit left the like elsewhere, the one below the line that stood
// above counts: one that is left over may be the other.
func (s Splice) find(now []byte) (span, error) {
	if len(s.New) == 0 {
		return s.gap(now)
	}
	places := s.places(now)
	if len(places) == 1 && s.Twins == 0 {
		return places[0], nil
	}
	below := slices.DeleteFunc(places, func(p span) bool { return string(lastLine(now[:p.from])) != string(s.Above) })
	if len(below) == 1 {
		return below[0], nil
	}
	return span{}, ErrDrifted
}

// places lists where the new lines stand whole. The last line of a text has
// an end or not: an editor may have added it or taken it away.
func (s Splice) places(now []byte) []span {
	want := []byte(chomp(s.New))
	if len(s.New) == 0 {
		return nil
	}
	var all []span
	for at := 0; at < len(now); at = afterLine(now, line{at: at}) {
		to := at + len(want)
		if bytes.HasPrefix(now[at:], want) {
			end := len(now[to:]) - len(bytes.TrimPrefix(bytes.TrimPrefix(now[to:], []byte("\r")), []byte("\n")))
			if to+end == len(now) || end > 0 && now[to+end-1] == '\n' {
				all = append(all, span{at, to + end})
			}
		}
	}
	return all
}

// gap gives the one place between the two lines that the edit has brought
// together.
func (s Splice) gap(now []byte) (span, error) {
	var all []span
	for at := 0; ; at = afterLine(now, line{at: at}) {
		rest := now[at:]
		if string(lastLine(now[:at])) == string(s.Above) && string(rest[:afterLine(rest, line{})]) == string(s.Below) {
			all = append(all, span{at, at})
		}
		if at == len(now) {
			break
		}
	}
	if len(all) != 1 || len(s.Above)+len(s.Below) == 0 {
		return span{}, ErrDrifted
	}
	return all[0], nil
}
