package hosttest

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"plumb/internal/host"
)

// Refusing is a doer that reads and never does: it refuses every change and
// remembers that it was asked. A reading command that is run with one and
// leaves no attempts has proved that it only reads.
type Refusing struct {
	host.Reader

	mu       sync.Mutex
	attempts []string
}

var _ host.Doer = (*Refusing)(nil)

// NewRefusing reads with r.
func NewRefusing(r host.Reader) *Refusing { return &Refusing{Reader: r} }

// Replace implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Replace(_ context.Context, name string, _ []byte, _ fs.FileMode) error {
	return n.refuse("replace " + name)
}

// Run implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Run(_ context.Context, argv ...string) ([]byte, error) {
	return nil, n.refuse("run " + strings.Join(argv, " "))
}

// Raw implements host.Doer: it fails with ErrRefused, because who only reads does
// not need secrets.
func (n *Refusing) Raw(_ context.Context, name string) ([]byte, error) {
	return nil, n.refuse("read with its secrets " + name)
}

// Tidy implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Tidy(_ context.Context, name string) error { return n.refuse("tidy " + name) }

// Remove implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Remove(_ context.Context, name string) error { return n.refuse("remove " + name) }

// Append implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Append(_ context.Context, name string, _ []byte) error {
	return n.refuse("append to " + name)
}

// Write implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Write(_ context.Context, name string, _ []byte) error {
	return n.refuse("write " + name)
}

// Exec implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Exec(_ context.Context, t host.Target, statement string) error {
	return n.refuse("execute on " + t.Name + " " + statement)
}

// Writable implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Writable(_ context.Context, name string) error {
	return n.refuse("ask to write " + name)
}

// Lock implements host.Doer: it fails with ErrRefused.
func (n *Refusing) Lock(_ context.Context, name string) (func(), error) {
	return nil, n.refuse("lock " + name)
}

func (n *Refusing) refuse(what string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attempts = append(n.attempts, what)
	return fmt.Errorf("%s: %w", what, host.ErrRefused)
}

// Attempts lists the changes that were asked for, in order.
func (n *Refusing) Attempts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.attempts)
}
