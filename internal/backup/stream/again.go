package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"plumb/internal/backup/store"
	"plumb/internal/units"
)

// Patience says how long what fails is tried again.
type Patience struct {
	For   time.Duration // from the first failure of one object; an hour's outage is to be outlived
	First time.Duration // the longest first pause
	Most  time.Duration // the longest of all
}

// DefaultPatience outlives an outage of an hour.
var DefaultPatience = Patience{For: 2 * time.Hour, First: 200 * time.Millisecond, Most: 30 * time.Second}

// crowd lets so many work at once as the store bears: half as many when it says that it is
// asked too often, one more after every twenty objects without that.
type crowd struct {
	mu         sync.Mutex
	free       *sync.Cond
	busy, most int
	limit      int
	smooth     int
}

func newCrowd(limit int) *crowd {
	c := &crowd{most: limit, limit: limit}
	c.free = sync.NewCond(&c.mu)
	return c
}

func (c *crowd) enter() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.busy >= c.most {
		c.free.Wait()
	}
	c.busy++
}

func (c *crowd) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy--
	c.free.Broadcast()
}

// tell hears how it went.
func (c *crowd) tell(slow bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slow {
		c.most, c.smooth = max(1, c.most/2), 0
		return
	}
	if c.smooth++; c.smooth >= 20 && c.most < c.limit {
		c.most, c.smooth = c.most+1, 0
		c.free.Broadcast()
	}
}

// again does something until it is done, cannot be done, or the patience is over. Pauses are of
// any length up to one that doubles, so that many who failed at once do not come back at once.
func again(ctx context.Context, p Patience, c *crowd, trouble func(error), do func() error) error {
	var since time.Time
	for pause := p.First; ; pause = min(2*pause, p.Most) {
		c.enter()
		err := do()
		c.leave()
		may, is := errors.AsType[*store.Trouble](err)
		c.tell(is && may.Slow)
		if !is || ctx.Err() != nil {
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) > p.For {
			return fmt.Errorf("given up after %s of trying: %w", units.Span(p.For), err)
		}
		if trouble != nil {
			trouble(err)
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(max(may.After, rand.N(pause)+time.Millisecond)):
		}
	}
}
