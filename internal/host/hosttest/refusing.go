package hosttest

import (
	"slices"
	"sync"

	"plumb/internal/host"
)

// Refusing is a doer that reads and never does, and remembers what it was
// asked to do. A reading command that is run with one and leaves no attempts has
// proved that it only reads, and no secrets.
type Refusing struct {
	host.Refusing

	mu       sync.Mutex
	attempts []string
}

// NewRefusing reads with r.
func NewRefusing(r host.Reader) *Refusing {
	n := &Refusing{}
	n.Refusing = host.Refusing{Reader: r, Refused: func(what string) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.attempts = append(n.attempts, what)
	}}
	return n
}

// Attempts lists the changes that were asked for, in order.
func (n *Refusing) Attempts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.attempts)
}
