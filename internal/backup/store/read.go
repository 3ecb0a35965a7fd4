package store

import (
	"context"
	"errors"
)

// few is more than most of what is read as a whole has, in bytes.
const few = 64 << 10

// Read reads an object of most bytes at the most, which mostly has few. A buffer for all that a manifest may have, made for each, takes
// longer than to read and check it.
func Read(ctx context.Context, s Store, name string, most int) (data []byte, tag string, err error) {
	data, tag, err = s.Get(ctx, name, make([]byte, min(few, most)))
	if errors.Is(err, ErrTooLarge) && few < most {
		data, tag, err = s.Get(ctx, name, make([]byte, most))
	}
	return data, tag, err
}
