package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// worker does operations one after the other, with a session of its own.
type worker struct {
	run   *run
	index int
	shard *shard
	tally Tally
	own   int64 // operations done as a terminal
	busy  atomic.Bool
	ended atomic.Int64 // operations of the measured part that succeeded
	spent atomic.Int64 // in them, nanoseconds

	mu     sync.Mutex // guards what close touches from outside
	doing  Work
	closed bool
}

var errClosed = errors.New("the run is over")

func (w *worker) open(ctx context.Context) (Work, error) {
	doing, err := w.run.w.Open(ctx, w.index)
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		_ = doing.Close()
		return nil, errClosed
	}
	w.doing = doing
	return doing, nil
}

func (w *worker) opened() Work {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.doing
}

// drop closes the session.
func (w *worker) drop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.doing != nil {
		_ = w.doing.Close() // its error says nothing about what was measured
		w.doing = nil
	}
}

// close closes the session for good. It ends an operation under way.
func (w *worker) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.drop()
}

// work does operations until the run is over.
func (w *worker) work() {
	doing := w.opened()
	for {
		m, n, ok := w.take()
		if !ok {
			return
		}
		w.busy.Store(true)
		m.began = w.run.now()
		if w.run.gate == nil {
			m.due = m.began
		}
		w.tally = Tally{}
		m.retried, m.err = w.attempt(doing, n)
		m.done = w.run.now()
		w.busy.Store(false)
		w.shard.record(m, &w.tally)
		if m.err == nil && m.phase == measuring {
			w.ended.Add(1)
			w.spent.Add(int64(m.done - m.began))
		}
		if m.err != nil {
			if doing = w.recover(doing, m.err); doing == nil {
				return
			}
		}
		if !w.think(n) {
			return
		}
	}
}

// take gives the next operation: when it was due, its number, and false when
// there is none.
func (w *worker) take() (m mark, n int64, ok bool) {
	r := w.run
	if r.gate != nil {
		if m.due, ok = r.gate.enter(); !ok {
			return m, 0, false
		}
	}
	m.phase = phase(r.phase.Load())
	if m.phase == stopping {
		return m, 0, false
	}
	if m.phase == measuring && r.gate != nil && m.due < time.Duration(r.measuring.Load()) {
		m.phase = warming
	}
	if r.o.Events > 0 && m.phase == measuring && r.measured.Add(1) > r.o.Events {
		r.gate.close()
		return m, 0, false
	}
	if r.thinker == nil {
		return m, r.handed.Add(1) - 1, true
	}
	n = w.own*int64(r.o.Threads) + int64(w.index)
	w.own++
	keying, _ := r.thinker.Think(n)
	return m, n, r.pause(keying)
}

// attempt does an operation, again after failures that go away by trying
// again. It does so also after the end of the measured part, as long as there
// is a session: an operation that met a deadlock then would have succeeded, and
// is no failure of the server.
func (w *worker) attempt(doing Work, n int64) (retried int64, err error) {
	for {
		err = doing.Do(n, &w.tally)
		if err == nil {
			return retried, nil
		}
		w.shard.fault(err)
		if classOf(err) != Retry || retried >= int64(w.run.o.Retries) || w.opened() == nil {
			return retried, err
		}
		retried++
	}
}

// recover decides how to go on after an operation that failed: with the same
// session, with a new one, or, when it is nil, not at all.
func (w *worker) recover(doing Work, err error) Work {
	r := w.run
	if phase(r.phase.Load()) == stopping {
		return nil
	}
	switch classOf(err) {
	case Retry:
		return doing
	case Lost:
		if again := w.reopen(); again != nil {
			return again
		}
	}
	r.end(err)
	return nil
}

// reopen tries for a new session as long as Options.Reconnect says.
func (w *worker) reopen() Work {
	r := w.run
	w.drop()
	until := r.now() + r.o.Reconnect
	for wait := 10 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		ctx, cancel := context.WithTimeout(context.Background(), max(r.o.Reconnect, 5*time.Second))
		doing, err := w.open(ctx)
		cancel()
		if err == nil {
			return doing
		}
		if errors.Is(err, errClosed) || r.now()+wait > until || !r.pause(wait) {
			return nil
		}
	}
}

// think waits as a person at a terminal would.
func (w *worker) think(n int64) bool {
	if w.run.thinker == nil {
		return true
	}
	_, thinking := w.run.thinker.Think(n)
	return w.run.pause(thinking)
}

// pause waits; it gives false when the run ends meanwhile.
func (r *run) pause(d time.Duration) bool {
	if d <= 0 {
		return phase(r.phase.Load()) != stopping
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return phase(r.phase.Load()) != stopping
	case <-r.stop:
		return false
	}
}
