// Package store is what a backup needs of a place for objects: whole ones, that are there or not,
// and conditions under which they are written. Nothing here is streamed: an object is a
// buffer, so what is sent again is what was sent before, and a store's limits on the parts of
// an upload do not matter.
package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Store keeps objects below one prefix. All it says is kept is durable. It is used by
// many goroutines at once. It does not try again: who calls it does.
//
// Its errors are ErrNotFound, ErrExists, ErrChanged, ErrDenied or ErrFull where they are that, and
// otherwise an [Trouble] when trying again may help.
type Store interface {
	// Put keeps data, a byte at least, under a name, whole or not at all, and gives its tag.
	Put(ctx context.Context, name string, data []byte, o Put) (tag string, err error)
	// Get reads an object into a buffer, and gives its part that was filled. An object that is
	// larger than the buffer is ErrTooLarge.
	Get(ctx context.Context, name string, into []byte) (data []byte, tag string, err error)
	// List gives the objects whose names begin with a prefix, sorted by name, until each says stop.
	List(ctx context.Context, prefix string, each func(Info) error) error
	// Delete removes an object. One that is not there is no error.
	Delete(ctx context.Context, name string) error
	// URL names it as the command line does, without secrets.
	URL() string
}

// Put says under which condition something is kept.
type Put struct {
	New   bool      // only when there is nothing of that name: else ErrExists
	Was   string    // only in place of the object of this tag: else ErrChanged
	Until time.Time // kept from being removed or replaced until then, where the store can; zero for no such lock

	// SHA256 is the hash of the bytes in hex, from who has made it already; "" lets the store make it where it needs one.
	SHA256 string
}

// Info is what a list tells.
type Info struct {
	Name     string
	Size     int64 // bytes
	Modified time.Time
	Tag      string
}

// What went wrong.
var (
	ErrNotFound = errors.New("not there")
	ErrExists   = errors.New("there already")
	ErrChanged  = errors.New("changed by somebody else meanwhile")
	ErrDenied   = errors.New("not allowed")
	ErrFull     = errors.New("no space left")
	ErrTooLarge = errors.New("larger than it may be")
)

// Trouble is an error after which the same may be tried again: a line that was cut, a
// server that is overloaded.
type Trouble struct {
	Err  error
	Slow bool // the store asks to be asked less often
}

// Error implements error.
func (t *Trouble) Error() string { return t.Err.Error() }

// Unwrap gives what went wrong.
func (t *Trouble) Unwrap() error { return t.Err }

// MaxName is how long a name may be, in bytes: less than what every store takes.
const MaxName = 512

// Check says what is wrong with the name of an object. Names come from manifests, which come from
// stores, and one of them is a directory of files.
func Check(name string) error {
	if name == "" || len(name) > MaxName {
		return fmt.Errorf("%q is not an object name: it has 1 to %d bytes", name, MaxName)
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || strings.Trim(part, letters) != "" {
			return fmt.Errorf("%q is not an object name: letters, digits and . _ - = between slashes, and no part that begins with a dot", name)
		}
	}
	return nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-="
