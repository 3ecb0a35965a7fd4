package backup

import "sync"

// Progress is how far a run has come, over all its streams.
type Progress struct {
	Stream  string // that it is at
	Bytes   int64  // of streams, that are through
	Skipped int64  // of these, what was there already: it took no time, and tells nothing of what comes
	Total   int64  // what it will be in the end; 0: nobody knows yet
}

// tally counts what is through. Several goroutines do so.
type tally struct {
	mu   sync.Mutex
	is   Progress
	tell func(Progress) // nil for nobody
}

// newTally begins to count towards a total; 0 where nobody knows it.
func newTally(tell func(Progress), total int64) *tally {
	return &tally{tell: tell, is: Progress{Total: total}}
}

// did counts bytes that went through.
func (t *tally) did(stream string, bytes int64) { t.add(stream, bytes, 0) }

// had counts bytes that were there already.
func (t *tally) had(stream string, bytes int64) { t.add(stream, bytes, bytes) }

func (t *tally) add(stream string, bytes, skipped int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.is.Stream, t.is.Bytes, t.is.Skipped = stream, t.is.Bytes+bytes, t.is.Skipped+skipped
	if t.tell != nil {
		t.tell(t.is)
	}
}
