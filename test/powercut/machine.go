package main

import (
	"context"
	"errors"
)

// newHypervisor gives what boots the guests.
func newHypervisor(func(string, ...any)) hypervisor { return nowhere{} }

type nowhere struct{}

func (nowhere) Run(context.Context, guest) (int, []byte, error) {
	return -1, nil, errors.New("there is nothing here yet that boots a guest")
}
