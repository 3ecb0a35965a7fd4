package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

// Refusing is a doer that only reads. It runs commands that only read; everything
// that would change something fails with ErrRefused.
type Refusing struct {
	Reader
	Doer    Doer              // for Raw and Writable, which only read but are not in Reader; nil to refuse these too
	Refused func(what string) // is called with what is refused
}

var _ Doer = (*Refusing)(nil)

func (r *Refusing) refuse(what string) error {
	r.Refused(what)
	return fmt.Errorf("%s: %w", what, ErrRefused)
}

// Run implements Doer.
func (r *Refusing) Run(ctx context.Context, argv ...string) ([]byte, error) {
	out, err := r.Output(ctx, argv...)
	if errors.Is(err, ErrRefused) {
		err = r.refuse("run " + strings.Join(argv, " "))
	}
	return out, err
}

// Raw implements Doer.
func (r *Refusing) Raw(ctx context.Context, name string) ([]byte, error) {
	if r.Doer == nil {
		return nil, r.refuse("read with its secrets " + name)
	}
	return r.Doer.Raw(ctx, name)
}

// Writable implements Doer.
func (r *Refusing) Writable(ctx context.Context, name string) error {
	if r.Doer == nil {
		return r.refuse("ask to write " + name)
	}
	return r.Doer.Writable(ctx, name)
}

// Remove implements Doer.
func (r *Refusing) Remove(_ context.Context, name string) error { return r.refuse("remove " + name) }

// Write implements Doer.
func (r *Refusing) Write(_ context.Context, name string, data []byte) error {
	return r.refuse("write " + strings.TrimSpace(string(data)) + " to " + name)
}

// Replace implements Doer.
func (r *Refusing) Replace(_ context.Context, name string, _ []byte, _ fs.FileMode) error {
	return r.refuse("replace " + name)
}

// MakeDir implements Doer.
func (r *Refusing) MakeDir(_ context.Context, name string, _ fs.FileMode, _, _ int) error {
	return r.refuse("make directory " + name)
}

// Rename implements Doer.
func (r *Refusing) Rename(_ context.Context, from, to string) error {
	return r.refuse("rename " + from + " to " + to)
}

// Append implements Doer.
func (r *Refusing) Append(_ context.Context, name string, _ []byte) error {
	return r.refuse("append to " + name)
}

// Tidy implements Doer.
func (r *Refusing) Tidy(_ context.Context, name string) error { return r.refuse("tidy " + name) }

// Exec implements Doer.
func (r *Refusing) Exec(_ context.Context, t Target, statement string) error {
	return r.refuse("execute on " + t.Name + " " + statement)
}

// Lock implements Doer.
func (r *Refusing) Lock(_ context.Context, name string) (func(), error) {
	return nil, r.refuse("lock " + name)
}
