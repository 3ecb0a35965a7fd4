package sampler

import (
	"context"
	"database/sql"
	"sync"
	"testing"

	"plumb/internal/engine/samplertest"
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
// wait for one are seen nowhere else: together they are ten, or nearly.
func TestAPoolOfThreads(t *testing.T) {
	const clients, threads = 10, 3
	l := start(t, sandbox.MySQLOptions{Settings: "thread_handling=pool-of-threads\nthread_pool_size=1\nthread_pool_max_threads=4\nthread_pool_dedicated_listener=ON\n"})
	if n, ok := samplertest.Value(l.Must("sessions"), queueLength); !ok || n != 0 {
		t.Errorf("without a load %v requests wait, told %v", n, ok)
	}
	l.repeat(clients, "DO SLEEP(0.1)")
	all := 0
	for range 10 {
		b := l.Must("sessions")
		active, queue := samplertest.Reads(b, "sessions_active"), samplertest.Reads(b, queueLength)
		t.Logf("%v active, %v in the queue", active, queue)
		if active > clients+threads || queue > clients { // what runs is counted a moment before, and can wait again by then
			t.Errorf("%v of %d clients are active, %v in the queue", active, clients, queue)
		}
		if active >= clients-1 && queue >= clients/2 {
			all++
		}
	}
	if all < 3 {
		t.Errorf("all clients were seen %d times, most of them in the queue", all)
	}
}
