package manifest

import (
	"errors"
	"time"

	"golang.org/x/mod/sumdb/note"
)

// Retired is a key that was given up. What it signed afterwards is of somebody who stole it.
type Retired struct {
	note.Verifier
	Until time.Time
}

// Believe reads what somebody signed who is trusted, or was when he signed it. read reads it as some keys signed it, and
// tells when that was.
func Believe[T any](trusted []note.Verifier, retired []Retired, read func(keys ...note.Verifier) (T, time.Time, error)) (T, error) {
	got, _, err := read(trusted...)
	for _, r := range retired {
		if !errors.Is(err, ErrStranger) {
			break
		}
		if old, at, bad := read(r.Verifier); bad == nil && !at.After(r.Until) {
			return old, nil
		}
	}
	return got, err
}

// SignedAt is when something was signed about a backup: at the time that it says, and not before there was a backup of that name. Who has
// stolen a key writes any time into what he signs, but by an old name nothing is the newest.
func SignedAt(id string, says time.Time) time.Time {
	if named := Made(id).Add(-Ahead); named.After(says) {
		return named
	}
	return says
}
