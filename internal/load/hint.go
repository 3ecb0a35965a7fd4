package load

import "strings"

// Hinted is an error with what a person can do about it.
type Hinted struct {
	error
	hint string
}

// Hint says what to do.
func (e *Hinted) Hint() string { return e.hint }

// Unwrap gives the error itself.
func (e *Hinted) Unwrap() error { return e.error }

// WithHint adds a hint to an error; "" adds none.
func WithHint(err error, hint string) error {
	if hint == "" {
		return err
	}
	return &Hinted{err, hint}
}

// shown is as much of a statement as an error shows.
const shown = 120

// Short cuts a statement for an error message: all white space becomes one
// space, what is too long an ellipsis.
func Short(query string) string {
	if len(query) > 8*shown {
		query = query[:8*shown]
	}
	query = strings.ToValidUTF8(strings.Join(strings.Fields(query), " "), "")
	if runes := []rune(query); len(runes) > shown {
		return string(runes[:shown]) + "…"
	}
	return query
}
