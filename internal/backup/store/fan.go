package store

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// Fan keeps the same objects in several stores. One that fails for good is left out from then on,
// so that a target that is gone spoils none of the others.
type Fan struct {
	mu   sync.Mutex
	all  []Store
	lost map[int]error // by place in all
}

// NewFan makes one.
func NewFan(all ...Store) *Fan { return &Fan{all: all, lost: map[int]error{}} }

// Each does something with each store that is not lost yet, all at once. Those that fail are lost; when none is left, that
// is the error.
func (f *Fan) Each(ctx context.Context, do func(Store) error) error {
	failed := make([]error, len(f.all))
	var all sync.WaitGroup
	for i, s := range f.all {
		if f.Lost(i) == nil {
			all.Go(func() { failed[i] = do(s) })
		}
	}
	all.Wait()
	if err := ctx.Err(); err != nil { // which is not the fault of a store
		return errors.Join(append(failed, err)...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, err := range failed {
		if err != nil && f.lost[i] == nil {
			f.lost[i] = err
		}
	}
	if len(f.lost) < len(f.all) {
		return nil
	}
	return f.why()
}

// why says why none is left.
func (f *Fan) why() error {
	if len(f.all) == 1 {
		return f.lost[0]
	}
	var all []error
	for i, s := range f.all {
		all = append(all, fmt.Errorf("%s: %w", s.URL(), f.lost[i]))
	}
	return errors.Join(all...)
}

// Lost tells why a store was left out; nil when it was not.
func (f *Fan) Lost(i int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost[i]
}

// Lose leaves a store out.
func (f *Fan) Lose(i int, why error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost[i] == nil {
		f.lost[i] = why
	}
}

// Put keeps an object in all of them. Its tag says nothing: each store has its own.
func (f *Fan) Put(ctx context.Context, name string, data []byte, o Put) (string, error) {
	return "", f.Each(ctx, func(s Store) error {
		_, err := s.Put(ctx, name, data, o)
		return err
	})
}
