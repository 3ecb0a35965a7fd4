package storetest

import (
	"context"
	"errors"
	"sync"
	"time"

	"plumb/internal/backup/store"
)

// Meeting is a store that answers no question before another one is asked too: for who is to ask side by side.
type Meeting struct {
	store.Store
	mu    sync.Mutex
	asked int
	two   chan struct{}
}

// Meet makes one of a store.
func Meet(s store.Store) *Meeting { return &Meeting{Store: s, two: make(chan struct{})} }

// Get implements store.Store.
func (m *Meeting) Get(ctx context.Context, name string, into []byte) ([]byte, string, error) {
	m.mu.Lock()
	if m.asked++; m.asked == 2 {
		close(m.two)
	}
	m.mu.Unlock()
	select {
	case <-m.two:
		return m.Store.Get(ctx, name, into)
	case <-time.After(10 * time.Second):
		return nil, "", errors.New("only one question is asked at a time")
	}
}
