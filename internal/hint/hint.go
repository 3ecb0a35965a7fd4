// Package hint lets an error say what a person can do about it.
package hint

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Hinted is an error with a hint. Errors of any package can be it.
type Hinted interface {
	error
	Hint() string
}

// With adds a hint to an error; "" adds none.
func With(err error, text string) error {
	if err == nil || text == "" {
		return err
	}
	return &hinted{err, text}
}

// Of gives the hint of an error, or of one that it wraps; "" where there is none.
func Of(err error) string {
	if h, ok := errors.AsType[Hinted](err); ok {
		return h.Hint()
	}
	return ""
}

type hinted struct {
	error
	text string
}

func (h *hinted) Hint() string  { return h.text }
func (h *hinted) Unwrap() error { return h.error }

// Newer is the error of something that a newer Plumb wrote, which is left as it is.
// it says what: "it is a plan". version is the one it has, and most the newest one
// that this Plumb knows.
func Newer(it string, version, most int) error {
	return With(fmt.Errorf("%s of version %d, and this plumb knows versions up to %d", it, version, most), "a newer plumb wrote it: use that one")
}

// OneOf lists the words that would do: "a, b or c".
func OneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1]
}

// Cause gives an error without the path, when the message names that already.
func Cause(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
