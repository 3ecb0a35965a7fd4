package files

import (
	"errors"

	"plumb/internal/hint"
	"plumb/internal/host/scratch"
)

// WithHint adds to an error of test files below dir what a person can do.
func WithHint(err error, dir string) error {
	switch {
	case errors.Is(err, scratch.ErrNoSet):
		return hint.With(err, "plumb load fileio prepare --dir "+dir+" makes them")
	case errors.Is(err, scratch.ErrForeign):
		return hint.With(err, "give another --dir, or remove it yourself")
	case errors.Is(err, scratch.ErrFull):
		return hint.With(err, "give a smaller --file-total-size, or another --dir")
	}
	return err
}
