package record

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// mostWaiting is how many minutes wait for a disk that is full or hangs.
const mostWaiting = 10

// loss is a span of time of which nothing is recorded.
type loss struct {
	since, until time.Time
	why, hint    string
}

// queue holds encoded blocks until they are written. Nobody who fills it ever
// waits: what is too much is lost, the oldest first, and noted.
type queue struct {
	mu     sync.Mutex
	list   []*flush
	losses []loss
	taken  int    // of the losses are being written with the head, and do not change
	why    string // why the head could not be written, lately
	wake   chan struct{}
}

func newQueue() *queue { return &queue{wake: make(chan struct{}, 1)} }

// put adds a block, or replaces the one of its number. It gives whether one was lost.
func (q *queue) put(f *flush) (lost bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.list); n > 0 && q.list[n-1].number == f.number {
		q.list[n-1] = f
		q.call()
		return false
	}
	q.list = append(q.list, f)
	if len(q.list) > mostWaiting {
		gone := q.list[0]
		q.list = slices.Clone(q.list[1:])
		q.lose(loss{since: time.Unix(0, gone.t0), until: time.Unix(0, gone.last), why: q.reason(), hint: "see the messages of plumb watch record of that time"})
		lost = true
	}
	q.call()
	return lost
}

func (q *queue) reason() string { return cmp.Or(q.why, "the disk did not answer") }

// lost notes a loss.
func (q *queue) lost(l loss) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lose(l)
}

// lose joins losses that follow one another. After the clock was set back they do not.
func (q *queue) lose(l loss) {
	if n := len(q.losses); n > q.taken && q.losses[n-1].why == l.why && l.since.Sub(q.losses[n-1].until).Abs() < 2*time.Minute && !l.until.Before(q.losses[n-1].until) {
		q.losses[n-1].until = l.until
		return
	}
	q.losses = append(q.losses, l)
}

func (q *queue) call() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// head gives the block to be written next, and what was lost before it.
func (q *queue) head() (f *flush, losses []loss) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) > 0 {
		f, q.taken = q.list[0], len(q.losses)
	}
	return f, slices.Clone(q.losses)
}

// wrote takes away what is written. A block that was replaced meanwhile stays.
func (q *queue) wrote(f *flush) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.losses, q.taken, q.why = q.losses[q.taken:], 0, ""
	if len(q.list) > 0 && q.list[0] == f {
		q.list = q.list[1:]
	}
}

func (q *queue) failed(why string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken, q.why = 0, why
}

func (q *queue) waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.list)
}
