package protect

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// arm has somebody ready who gives back what outlives our connection, before any of it is taken.
func (t *taking) arm(ctx context.Context) (Armed, error) {
	if len(t.mode.Will) == 0 {
		return nobody{}, nil
	}
	if t.k.Heir == nil {
		return nil, fmt.Errorf("nothing here can give back what outlives a connection: %s", strings.Join(t.mode.Will, "; "))
	}
	return t.k.Heir.Arm(ctx, t.k.Do, t.plan.Target, t.mode.Will, t.o.Wait+t.o.Hold+letGoTime)
}

// nobody is needed where all goes with the connection.
type nobody struct{}

// End implements Armed.
func (nobody) End(context.Context, bool) error { return nil }

// ErrUntouched says of an error of Engine.Quiesce that nothing was even asked for: what is held is
// somebody else's.
var ErrUntouched = errors.New("nothing was taken")

// abandon has given back what may have been taken.
func abandon(ctx context.Context, heir Armed, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	return errors.Join(err, heir.End(ctx, errors.Is(err, ErrUntouched)))
}
