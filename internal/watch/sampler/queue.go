package sampler

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// item is a picture or a batch.
type item struct {
	at      time.Time
	picture *stack.Stack
	batch   series.Batch
}

// waiting is how much a sink may be behind: some ten seconds of a host with
// several servers.
const waiting = 256

// queue stands between the sampler and one sink.
type queue struct {
	sink    watch.Sink
	items   chan item
	done    chan struct{}
	mu      sync.Mutex
	dropped map[string]bool // sources of which something did not fit
}

func newQueue(s watch.Sink) *queue {
	q := &queue{sink: s, items: make(chan item, waiting), done: make(chan struct{}), dropped: map[string]bool{}}
	go q.work()
	return q
}

// put never waits. What does not fit is said as soon as there is room again;
// a picture is of no source, and the next one replaces it.
func (q *queue) put(i item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.dropped) > 0 && len(q.items) < cap(q.items)-1 {
		q.items <- item{at: i.at, batch: about(i.at, "more data came than could be processed: left out some of "+strings.Join(slices.Sorted(maps.Keys(q.dropped)), ", "))}
		q.dropped = map[string]bool{}
	}
	select {
	case q.items <- i:
	default:
		name := i.batch.Source
		if i.picture != nil {
			name = "the picture of the host"
		}
		q.dropped[name] = true
	}
}

func (q *queue) work() {
	defer close(q.done)
	for i := range q.items {
		if i.picture != nil {
			q.sink.Picture(i.at, i.picture)
			continue
		}
		q.sink.Batch(i.batch)
	}
}

// leave is how long a sink is given to take in what waits when all ends.
const leave = 5 * time.Second

func (q *queue) close() {
	close(q.items)
	select {
	case <-q.done:
	case <-time.After(leave):
	}
}
