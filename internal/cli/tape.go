package cli

import (
	"errors"

	"plumb/internal/host"
)

func (a *app) openTape(name string) (host.Reader, error) {
	return nil, errors.New("tapes are not readable yet")
}
