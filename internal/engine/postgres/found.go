package postgres

import (
	"context"
	"fmt"
	"slices"

	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/observe"
	"plumb/internal/stack"
)

// Found is a server of this host, and how Plumb logs in to it.
type Found struct {
	Local  observe.Local
	Target host.Target
	Data   string // directory, as the server calls it
}

// Find gives the server of a thing in the stack.
func (p *Probe) Find(ctx context.Context, h host.Reader, seen *stack.Stack, of stack.Ref) (Found, error) {
	for _, in := range p.servers(ctx, h, seen) {
		switch {
		case in.name != of.Name:
		case in.process == nil:
			return Found{}, hint.With(fmt.Errorf("%s runs on another machine", of), "run Plumb there")
		case in.data == "" || in.target.Address == "":
			return Found{}, hint.With(fmt.Errorf("the data directory and socket of %s are not known", of), observe.LoginHint(h, false))
		default:
			return Found{Local: in.local, Target: in.target, Data: in.data}, nil
		}
	}
	return Found{}, hint.With(fmt.Errorf("%s does not run here", of), "plumb stack lists the servers of this host")
}

// Reach says how Plumb logs in to a server of the stack, on this host or not;
// ok is false for one that cannot be reached.
func (p *Probe) Reach(ctx context.Context, h host.Reader, seen *stack.Stack, of stack.Ref) (t host.Target, ok bool) {
	for _, in := range p.servers(ctx, h, seen) {
		if in.name == of.Name && in.target.Address != "" {
			return in.target, true
		}
	}
	return t, false
}

// In gives the way into another database: a session is of one. The name is
// that by which the reader keeps sessions.
func In(t host.Target, database string) host.Target {
	t.Name += "/" + database
	t.Logins = slices.Clone(t.Logins)
	for i := range t.Logins {
		t.Logins[i].Database = database
	}
	return t
}
