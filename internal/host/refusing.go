package host

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
)

// Refusing is a doer that reads and never does: it refuses every change and
// remembers that it was asked. A reading command that is run with one and
// leaves no attempts has proved that it only reads.
type Refusing struct {
	Reader

	mu       sync.Mutex
	attempts []string
}

var _ Doer = (*Refusing)(nil)

// NewRefusing reads with r.
func NewRefusing(r Reader) *Refusing { return &Refusing{Reader: r} }

// Replace implements Doer: it fails with ErrRefused.
func (n *Refusing) Replace(_ context.Context, name string, _ []byte, _ fs.FileMode) error {
	return n.refuse("replace " + name)
}

// Run implements Doer: it fails with ErrRefused.
func (n *Refusing) Run(_ context.Context, argv ...string) ([]byte, error) {
	return nil, n.refuse("run " + strings.Join(argv, " "))
}

func (n *Refusing) refuse(what string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.attempts = append(n.attempts, what)
	return fmt.Errorf("%s: %w", what, ErrRefused)
}

// Attempts lists the changes that were asked for, in order.
func (n *Refusing) Attempts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.attempts)
}
