package hosttest

import (
	"context"
	"errors"

	"plumb/internal/host"
)

// ErrDead is what a machine answers that has lost its power.
var ErrDead = errors.New("the machine is dead")

// Mortal is a doer whose machine dies at one of its changes: from then on nothing works, as
// when the power is gone. What was done stays done.
type Mortal struct {
	host.Hooked
	N int // changes so far
}

// NewMortal lets the machine die at its change number at, before that or after; 0: never.
func NewMortal(of host.Doer, at int, after bool) *Mortal {
	m := &Mortal{}
	m.Behind = of
	m.Around = func(_ context.Context, c host.Call, do func() error) error {
		if !c.Reads() && c.Op != "lock" {
			m.N++
			if m.N == at && after {
				_ = do() // nobody is left to hear of it
			}
		}
		if at > 0 && m.N >= at {
			return ErrDead
		}
		return do()
	}
	return m
}
