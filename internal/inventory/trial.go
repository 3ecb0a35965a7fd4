package inventory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"plumb/internal/hint"
	"plumb/internal/host"
)

// TryRemove checks the proof of a thing as RemoveOne does, and says what
// would be done first; "" when the thing is gone and only its line would go.
// It changes nothing.
func TryRemove(ctx context.Context, d host.Doer, kinds Kinds, directory, kind, name string) (first string, err error) {
	err = withOne(ctx, d, directory, kind, name, func(p *pages, e Entry, others living, _ noting) error {
		if at, ok := others.within(e.Thing); ok {
			return inTheWay(e.Thing, at)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		try := &trial{Reader: d, d: d, end: cancel}
		h := p.holder(d, false)
		h.Do = try
		err := kinds.takeAway(ctx, h, e)
		if try.first != "" {
			first, err = try.first, nil
		}
		return err
	})
	return first, err
}

func inTheWay(t, at Thing) error {
	return hint.With(fmt.Errorf("remove %s %s: %s %s is in it and meant to live", t.Kind, t.Name, at.Kind, at.Name), "plumb inventory remove "+at.Kind+" "+at.Name+" comes first")
}

// trial is a machine on which what only reads is done, and the first that
// would do something is noted instead and ends the trial.
type trial struct {
	host.Reader
	d     host.Doer
	end   context.CancelFunc // nobody tries a second time
	first string
}

var _ host.Doer = (*trial)(nil)

func (t *trial) refuse(what string) error {
	if t.first == "" {
		t.first = what
	}
	t.end()
	return fmt.Errorf("%s: %w", what, host.ErrRefused)
}

// Run implements host.Doer.
func (t *trial) Run(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := t.Output(ctx, argv...)
	if errors.Is(err, host.ErrRefused) {
		err = t.refuse("run " + strings.Join(argv, " "))
	}
	return out, err
}

// Raw implements host.Doer.
func (t *trial) Raw(ctx context.Context, name string) ([]byte, error) { return t.d.Raw(ctx, name) }

// Writable implements host.Doer.
func (t *trial) Writable(ctx context.Context, name string) error { return t.d.Writable(ctx, name) }

// Remove implements host.Doer.
func (t *trial) Remove(_ context.Context, name string) error { return t.refuse("remove " + name) }

// Write implements host.Doer.
func (t *trial) Write(_ context.Context, name string, data []byte) error {
	return t.refuse("write " + strings.TrimSpace(string(data)) + " to " + name)
}

// Replace implements host.Doer.
func (t *trial) Replace(_ context.Context, name string, _ []byte, _ fs.FileMode) error {
	return t.refuse("replace " + name)
}

// Append implements host.Doer.
func (t *trial) Append(_ context.Context, name string, _ []byte) error {
	return t.refuse("append to " + name)
}

// Tidy implements host.Doer.
func (t *trial) Tidy(_ context.Context, name string) error { return t.refuse("tidy " + name) }

// Exec implements host.Doer.
func (t *trial) Exec(_ context.Context, _ host.Target, statement string) error {
	return t.refuse("execute " + statement)
}

// Lock implements host.Doer.
func (t *trial) Lock(_ context.Context, name string) (func(), error) {
	return nil, t.refuse("lock " + name)
}
