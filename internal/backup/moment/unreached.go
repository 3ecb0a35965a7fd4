package moment

import "plumb/internal/hint"

// unreachedError is the error of a base from which the archive leads nowhere.
type unreachedError struct{ error }

// Unwrap gives what went wrong.
func (e *unreachedError) Unwrap() error { return e.error }

// Unreached says of an error that the archive lacks the log where a base begins or ends, so that no moment is reached from it.
func Unreached(err error) error {
	return &unreachedError{hint.With(err, "no moment can be reached from this backup; take a later one (plumb archive list)")}
}
