package fill

import (
	"sync"
	"sync/atomic"
	"time"
)

// meter is how far a load is.
type meter struct {
	began   time.Time
	of      int64 // bytes in all, estimated
	earlier int64 // bytes that were in when it began
	rows    atomic.Int64

	rowsEarlier int64 // rows that were in when it began, estimated
	bytes       atomic.Int64
	mu          sync.Mutex
	doing       string
	table       string
	filled      time.Duration // when the last range was in
}

func (m *meter) at(doing, table string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.doing, m.table = doing, table
}

// took notes that a range is in.
func (m *meter) took(rows int64) {
	m.rows.Add(rows)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.filled = time.Since(m.began)
}

func (m *meter) now() Progress {
	m.mu.Lock()
	p := Progress{Doing: m.doing, Table: m.table}
	m.mu.Unlock()
	p.Rows, p.Bytes = m.rows.Load(), m.bytes.Load()
	p.Of = max(m.of, p.Bytes)
	p.Elapsed = time.Since(m.began)
	if sent := p.Bytes - m.earlier; sent > 0 && p.Elapsed > time.Second/2 {
		p.Rate = float64(p.Rows-m.rowsEarlier) / p.Elapsed.Seconds()
		p.Left = time.Duration(float64(p.Of-p.Bytes) / float64(sent) * float64(p.Elapsed))
	}
	return p
}

// show calls back until stopped.
func (m *meter) show(f func(Progress)) (stop func()) {
	if f == nil {
		return func() {}
	}
	over := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		tick := time.NewTicker(time.Second / 2)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f(m.now())
			case <-over:
				f(m.now())
				return
			}
		}
	})
	return func() {
		close(over)
		group.Wait()
	}
}
