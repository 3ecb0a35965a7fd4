package store

import (
	"context"
	"errors"
	"fmt"
)

// ErrUnkept is the error of a store that has not what it said it keeps. Going on with that would end in the same way.
var ErrUnkept = errors.New("the store did not keep all that it was given")

// Sizes are objects that a store has, in bytes.
type Sizes map[string]int64

// SizesOf lists the objects whose names begin with a prefix.
func SizesOf(ctx context.Context, s Store, prefix string) (Sizes, error) {
	there := Sizes{}
	return there, s.List(ctx, prefix, func(i Info) error {
		there[i.Name] = i.Size
		return nil
	})
}

// Kept is an error unless an object is there whole: that a store said that it keeps one is one thing.
func (s Sizes) Kept(name string, size int64) error {
	if has, is := s[name]; !is || has != size {
		return fmt.Errorf("%w: it has %d bytes of %s, but reported that it kept %d", ErrUnkept, has, name, size)
	}
	return nil
}
