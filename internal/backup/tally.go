package backup

import "sync"

// Progress is how far a run has come, over all its streams.
type Progress struct {
	Stream  string // that it is at
	Bytes   int64  // of streams, that are through
	Skipped int64  // of these, what was there already: it took no time, and tells nothing of what comes
	Total   int64  // what it will be in the end; 0: nobody knows yet
	About   bool   // that is an estimate
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

// about sets a total that is an estimate; 0 where there is none.
func (t *tally) about(total int64) *tally {
	t.is.Total, t.is.About = total, total > 0
	return t
}

// did counts bytes that went through.
func (t *tally) did(stream string, bytes int64) { t.add(stream, bytes, 0) }

// had counts bytes that were there already.
func (t *tally) had(stream string, bytes int64) { t.add(stream, bytes, bytes) }

func (t *tally) add(stream string, bytes, skipped int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.is.Stream, t.is.Bytes, t.is.Skipped = stream, t.is.Bytes+bytes, t.is.Skipped+skipped
	if t.is.About && t.is.Bytes >= t.is.Total { // there may be more
		t.is.Total, t.is.About = 0, false
	}
	if t.tell != nil {
		t.tell(t.is)
	}
}
