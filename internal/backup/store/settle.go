package store

import (
	"bytes"
	"context"
	"errors"
)

// Settle puts an object under a condition, and knows in the end whether it was done: a try whose answer was lost
// finds what it did itself when it is made again. What is put must be like nothing that another puts.
func Settle(ctx context.Context, s Store, name string, data []byte, o Put) (tag string, err error) {
	tag, err = s.Put(ctx, name, data, o)
	if !errors.Is(err, ErrExists) && !errors.Is(err, ErrChanged) {
		return tag, err
	}
	there, now, bad := s.Get(ctx, name, make([]byte, len(data)))
	if bad == nil && bytes.Equal(there, data) {
		return now, nil
	}
	return "", err
}
