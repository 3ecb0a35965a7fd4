package instance

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"plumb/internal/hint"
)

// ErrFull says that a copy's server had no room to write, which says nothing of the point.
var ErrFull = errors.New("its storage is full")

// full adds to the error of a copy that its server found no room, as servers say it: ENOSPC or EDQUOT, in words or by number.
func full(err error) error {
	if err == nil || errors.Is(err, ErrFull) {
		return err
	}
	said := func(mark string) bool { return strings.Contains(err.Error(), mark) }
	if !slices.ContainsFunc([]string{"No space left on device", "Disk quota exceeded", "rror number 28", "rror number 122"}, said) {
		return err
	}
	return hint.With(fmt.Errorf("%w (%w)", err, ErrFull), "a copy needs room for what its recovery writes: plumb prune makes some, or raise the quota")
}
