package cli

import (
	"context"
	"errors"
)

func (a *app) checkMany(ctx context.Context, k know, f checkFlags) error {
	return errors.New("directories of tapes are not readable yet")
}
