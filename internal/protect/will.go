package protect

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// arm starts the heir that gives back what outlives our connection. It must be waiting before any of that is taken.
func (t *taking) arm(ctx context.Context) (Armed, error) {
	if len(t.mode.Will) == 0 {
		return nobody{}, nil
	}
	if t.k.Heir == nil {
		return nil, fmt.Errorf("nothing here can release what outlives a connection: %s", strings.Join(t.mode.Will, "; "))
	}
	return t.k.Heir.Arm(ctx, t.k.Do, t.plan.Target, t.mode.Will, t.o.Wait+t.o.Hold+letGoTime)
}

// nobody is the heir where everything ends with the connection.
type nobody struct{}

// End implements Armed.
func (nobody) End(context.Context, bool) error { return nil }

// ErrUntouched is wrapped in an error of Engine.Quiesce when the server was not asked for anything: whatever is held is held by
// somebody else, and must not be released.
var ErrUntouched = errors.New("nothing was taken")

// abandon ends the heir after err, and has it give back what may have been taken before.
func abandon(ctx context.Context, heir Armed, err error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	return errors.Join(err, heir.End(ctx, errors.Is(err, ErrUntouched)))
}
