package stream

import (
	"context"
	"sync"
	"time"

	"plumb/internal/await"
)

// Pace limits bytes a second over all who share it. The zero value limits nothing.
type Pace struct {
	PerSecond int64
	mu        sync.Mutex
	free      time.Time // when the next byte may go
}

// Wait holds up who wants to send n bytes, until those of all before have had their time.
func (p *Pace) Wait(ctx context.Context, n int) error {
	if p == nil || p.PerSecond <= 0 {
		return nil
	}
	p.mu.Lock()
	now := time.Now()
	start := now
	if p.free.After(now) {
		start = p.free
	}
	p.free = start.Add(time.Duration(float64(n) / float64(p.PerSecond) * float64(time.Second)))
	p.mu.Unlock()
	return await.Pause(ctx, start.Sub(now))
}
