package sample

import (
	"context"
	"time"

	"plumb/internal/host"
	"plumb/internal/series"
	"plumb/internal/stack"
)

// Source reads one part of a host. It is called by one goroutine, never twice
// at a time, with a context that ends when its answer would be late.
type Source interface {
	Name() string         // the same for as long as what it reads stands: "block", "mysql:3306 status"
	Every() time.Duration // 1 s, 10 s or 60 s
	// Take reads. It fills in readings, gaps, sessions and statements; the rest
	// of the batch is its caller's. What was read before an error counts, the
	// error becomes a gap about all else.
	Take(ctx context.Context, h host.Reader) (series.Batch, error)
}

// Finder makes the sources of what stands on a host: of one product or one part
// of the system. It is asked again when servers came or went. Sources that read
// the same have the same name.
type Finder interface {
	Sources(s *stack.Stack) []Source
}

// The paces at which sources are asked.
const (
	Second = time.Second
	Ten    = 10 * time.Second
	Minute = time.Minute
)
