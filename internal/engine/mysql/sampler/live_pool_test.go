package sampler

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// repeat has so many clients run a statement again and again until the test ends.
func (l *live) repeat(clients int, statement string) {
	l.T.Helper()
	var conns []*sql.Conn
	for range clients {
		conns = append(conns, l.Held())
	}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	l.T.Cleanup(func() { cancel(); all.Wait() })
	for _, c := range conns {
		all.Go(func() {
			for ctx.Err() == nil {
				_, _ = c.ExecContext(ctx, statement) // the last one is ended
			}
		})
	}
}

// TestAPoolOfThreads: ten clients of a pool that has three threads for them, one of which is now and then ours. Those that
// wait for one are seen nowhere else: together they are ten.
func TestAPoolOfThreads(t *testing.T) {
	const clients = 10
	l := start(t, sandbox.MySQLOptions{Settings: "thread_handling=pool-of-threads\nthread_pool_size=1\nthread_pool_max_threads=4\n"})
	if n, ok := samplertest.Value(l.Must("sessions"), queueLength); !ok || n != 0 {
		t.Errorf("without a load %v requests wait, told %v", n, ok)
	}
	l.repeat(clients, "DO SLEEP(0.1)")
	b := l.Until("sessions", "that most clients wait for a thread", func(b series.Batch) bool { return samplertest.Reads(b, queueLength) >= clients/2 })
	if active := samplertest.Reads(b, "sessions_active"); active < clients-2 || active > clients+1 {
		t.Errorf("%v of %d clients are active", active, clients)
	}
}
