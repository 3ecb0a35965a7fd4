package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"plumb/internal/await"
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

// Patient is a store that tries again. As many are at it at once as the store bears.
type Patient struct {
	Store
	patience Patience
	crowd    *crowd
	trouble  func(error)
}

var _ Store = (*Patient)(nil)

// Patiently makes a store that tries what fails again, for as long as its patience lasts. trouble is told of what is
// tried again; nil for nobody. Of a Put under a condition that failed in the end, or found something there, it is not known
// whether it was done: who asked reads what is there.
func Patiently(s Store, p Patience, most int, trouble func(error)) *Patient {
	return &Patient{s, p, newCrowd(most), trouble}
}

// Put implements Store.
func (s *Patient) Put(ctx context.Context, name string, data []byte, o Put) (tag string, err error) {
	err = s.again(ctx, func() error {
		tag, err = s.Store.Put(ctx, name, data, o)
		return err
	})
	return tag, err
}

// Get implements Store.
func (s *Patient) Get(ctx context.Context, name string, into []byte) (data []byte, tag string, err error) {
	err = s.again(ctx, func() error {
		data, tag, err = s.Store.Get(ctx, name, into)
		return err
	})
	return data, tag, err
}

// List implements Store. A list that broke off is asked for anew, and goes on behind the last name. One that is not in order, or
// repeats itself, is an error: what it leaves out nobody would see, and it may never end. It is not one of those who are at it at
// once: who is told of an object may ask the store something, and would wait for himself where the store bears one alone.
func (s *Patient) List(ctx context.Context, prefix string, each func(Info) error) error {
	last := ""
	var stopped error // by who is told, whose errors are not tried again here
	err := s.tried(ctx, func() error {
		before := ""
		err := s.Store.List(ctx, prefix, func(i Info) error {
			if i.Name <= before {
				return fmt.Errorf("list %s: it has %s after %s, so it is out of order or repeats itself, and cannot be relied on", s.URL(), i.Name, before)
			}
			before = i.Name
			if i.Name <= last {
				return nil
			}
			last = i.Name
			stopped = each(i)
			return stopped
		})
		if stopped != nil {
			return nil
		}
		return err
	})
	return cmp.Or(stopped, err)
}

// Delete implements Store.
func (s *Patient) Delete(ctx context.Context, name string) error {
	return s.again(ctx, func() error { return s.Store.Delete(ctx, name) })
}

// again does something, with as many others as the store bears, until it is done, cannot be done, or the patience is over.
func (s *Patient) again(ctx context.Context, do func() error) error {
	return s.tried(ctx, func() error {
		s.crowd.enter()
		defer s.crowd.leave()
		return do()
	})
}

// tried does something until it is done, cannot be done, or the patience is over. Pauses are of
// any length up to one that doubles, so that many who failed at once do not come back at once.
func (s *Patient) tried(ctx context.Context, do func() error) error {
	var since time.Time
	for pause := s.patience.First; ; pause = min(2*pause, s.patience.Most) {
		err := do()
		may, is := errors.AsType[*Trouble](err)
		s.crowd.tell(is && may.Slow)
		if !is || ctx.Err() != nil {
			return err
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since) > s.patience.For {
			return fmt.Errorf("given up after %s of trying: %w", units.Span(s.patience.For), err)
		}
		if s.trouble != nil {
			s.trouble(err)
		}
		if await.Pause(ctx, rand.N(pause)+time.Millisecond) != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}
