package sample

import (
	"context"
	"time"

	"plumb/internal/host"
	"plumb/internal/series"
)

// Taker reads into a batch. What it has set counts, also when it ends with an error.
type Taker func(ctx context.Context, h host.Reader, b *series.Batch) error

// Made makes a source of a function.
func Made(name string, every time.Duration, take Taker) Source { return made{name, every, take} }

type made struct {
	name  string
	every time.Duration
	take  Taker
}

func (m made) Name() string         { return m.name }
func (m made) Every() time.Duration { return m.every }

func (m made) Take(ctx context.Context, h host.Reader) (series.Batch, error) {
	var b series.Batch
	err := m.take(ctx, h, &b)
	return b, err
}
