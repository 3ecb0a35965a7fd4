package capture

import (
	"slices"
	"sync"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch/record"
)

// Before is how much of the past a capture has.
const Before = 5 * time.Minute

// mostItems bounds what is kept in memory: with every source that a large host
// has, five minutes are some thousands.
const mostItems = 20_000

// Ring is a watch.Sink that keeps the newest minutes, and the picture they began
// with. It is safe for concurrent use.
type Ring struct {
	mu      sync.Mutex
	picture record.Item // the last one before the items
	items   []record.Item
}

// Picture implements watch.Sink.
func (r *Ring) Picture(at time.Time, s *stack.Stack) { r.add(record.Item{At: at, Picture: s}) }

// Batch implements watch.Sink.
func (r *Ring) Batch(b series.Batch) { r.add(record.Item{At: b.At, Batch: &b}) }

func (r *Ring) add(i record.Item) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.items = append(r.items, i)
	old := 0
	for old < len(r.items)-1 && (i.At.Sub(r.items[old].At) > Before || len(r.items)-old > mostItems) {
		if r.items[old].Picture != nil {
			r.picture = r.items[old]
		}
		old++
	}
	clear(r.items[:old]) // so that they can go before the slice grows next
	r.items = r.items[old:]
}

// Items gives what is kept, oldest first: what replays it needs a picture before
// the first batch.
func (r *Ring) Items() []record.Item {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.picture.Picture == nil {
		return slices.Clone(r.items)
	}
	return append([]record.Item{r.picture}, r.items...)
}
