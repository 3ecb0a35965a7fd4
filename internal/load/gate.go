package load

import (
	"sync"
	"sync/atomic"
	"time"
)

// gate lets workers begin operations. In a closed loop it is always open; in
// an open loop it lets one through for each operation that is due, and what
// nobody had time for waits, however long the queue grows.
type gate struct {
	mu      sync.Mutex
	free    *sync.Cond
	shut    bool
	due     int64 // operations that became due
	begun   int64 // of those, how many a worker took
	times   Pacer // gives the due times once more, to those who take
	lag     Latency
	offered atomic.Int64 // due while measuring
}

func newGate(p Pacer) *gate {
	g := &gate{times: p.Again(), lag: NewLatency()}
	g.free = sync.NewCond(&g.mu)
	return g
}

// pace lets operations through as they become due, until the gate is shut.
// All that are overdue at a wake-up go through at once: a pacer that comes
// late must not make the load gentler.
func (g *gate) pace(p Pacer, r *run) {
	sleep, done := r.sleeper()
	defer done()
	for due := p.Next(); !g.isShut(); {
		now := r.now()
		if due > now {
			sleep(min(due-now, 50*time.Millisecond)) // to notice when the gate is shut
			continue
		}
		g.mu.Lock()
		for ; due <= now; due = p.Next() {
			g.due++
			if due >= time.Duration(r.measuring.Load()) {
				g.offered.Add(1)
				g.lag.Record(now - due)
			}
			g.free.Signal()
		}
		g.mu.Unlock()
	}
}

// enter waits for an operation to be due and gives when it was.
func (g *gate) enter() (due time.Duration, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.begun >= g.due && !g.shut {
		g.free.Wait()
	}
	if g.shut {
		return 0, false
	}
	g.begun++
	return g.times.Next(), true
}

func (g *gate) close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	g.shut = true
	g.mu.Unlock()
	g.free.Broadcast()
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// waiting is how many operations are due and not begun.
func (g *gate) waiting() int64 {
	if g == nil {
		return 0
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.due - g.begun
}
