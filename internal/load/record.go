package load

import (
	"errors"
	"sync"
	"time"
)

// counts is what happened to one kind of operation since they were last taken.
type counts struct {
	ended     int64 // succeeded, whenever begun: the throughput
	failed    int64
	retried   int64
	measured  OpResult // of the operations begun in the same phase
	response  Latency
	service   Latency
	bothKinds bool // service is kept apart
}

func newCounts(open bool) *counts {
	c := &counts{response: NewLatency(), bothKinds: open}
	if open {
		c.service = NewLatency()
	}
	return c
}

// shard collects the marks of some of the workers. Its lock is held for some
// fifty nanoseconds and hardly ever waited for; several shards keep it so on
// large machines.
type shard struct {
	mu     sync.Mutex
	phase  phase
	ops    []*counts
	notes  Notes
	lost   int64
	errors map[string]*ErrorCount
}

// mark is one operation as a worker saw it.
type mark struct {
	due, began, done time.Duration // after the start of the run
	phase            phase         // in which it was begun
	retried          int64
	err              error
}

func (s *shard) record(m mark, t *Tally) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.ops[t.Op]
	c.retried += m.retried
	switch {
	case m.err != nil:
		c.failed++
	case !t.RolledBack && !t.Skipped:
		c.ended++
	}
	if m.phase == s.phase { // what began while warming up says nothing about the measured part
		s.measure(c, m, t)
	}
}

func (s *shard) measure(c *counts, m mark, t *Tally) {
	r := &c.measured
	r.Retried += m.retried
	r.Counted.add(t.Counted)
	for i, n := range t.Notes {
		s.notes[i] += n
	}
	switch {
	case m.err != nil:
		r.Failed++
		return // how long a failure took is no answer to how fast the server is
	case t.RolledBack:
		r.RolledBack++
	case t.Skipped:
		r.Skipped++
	default:
		r.Done++
	}
	c.response.Record(m.done - m.due)
	if c.bothKinds {
		c.service.Record(m.done - m.began)
	}
}

// fault counts an error, also one that was then retried with success.
func (s *shard) fault(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	class := classOf(err)
	if class == Lost {
		s.lost++
	}
	e := ErrorCount{Class: class.String(), Message: err.Error()}
	if f, ok := errors.AsType[*Failure](err); ok {
		e.Code = f.Code
	}
	key := e.Class + " " + e.Code
	if s.errors[key] == nil {
		s.errors[key] = &e
	}
	s.errors[key].N++
}

// take moves the counts of a shard into others and empties it for the next
// phase, which may be the same one.
func (s *shard) take(into []*counts, notes *Notes, next phase) (lost int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, c := range s.ops {
		c.moveTo(into[i])
	}
	if s.phase == measuring {
		for i, n := range s.notes {
			notes[i] += n
		}
	}
	s.phase = next
	s.notes = Notes{}
	lost, s.lost = s.lost, 0
	return lost
}

// moveTo adds c to other and empties c.
func (c *counts) moveTo(other *counts) {
	other.ended += c.ended
	other.failed += c.failed
	other.retried += c.retried
	other.measured.add(c.measured)
	if c.response.TotalCount() > 0 {
		other.response.Merge(c.response.Histogram)
	}
	if c.bothKinds && c.service.TotalCount() > 0 {
		other.service.Merge(c.service.Histogram)
	}
	c.forget()
}

// forget empties c.
func (c *counts) forget() {
	c.ended, c.failed, c.retried, c.measured = 0, 0, 0, OpResult{}
	if c.response.TotalCount() > 0 {
		c.response.Reset()
	}
	if c.bothKinds && c.service.TotalCount() > 0 {
		c.service.Reset()
	}
}

// add sums the counts of two results; their latencies are merged elsewhere.
func (r *OpResult) add(o OpResult) {
	r.Done += o.Done
	r.RolledBack += o.RolledBack
	r.Skipped += o.Skipped
	r.Failed += o.Failed
	r.Retried += o.Retried
	r.Counted.add(o.Counted)
}
