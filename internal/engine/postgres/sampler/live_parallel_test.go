package sampler

import (
	"context"
	"fmt"
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
)

// TestParallelWorkers: what they do is what their client waits for. They are listed with whom they help, and are no connections.
func TestParallelWorkers(t *testing.T) {
	onServers(t, func(t *testing.T, l *live) {
		tr, err := l.of.learn(context.Background(), l.Host)
		if err != nil {
			t.Fatal(err)
		}
		if !tr.tellsLeaders() {
			t.Skip("before 13 the server does not tell whom a worker helps")
		}
		l.Exec("CREATE TABLE t (id int) WITH (parallel_workers = 2)", "INSERT INTO t SELECT generate_series(1, 2000)")
		busy := l.Held("SET parallel_setup_cost = 0", "SET parallel_tuple_cost = 0", "SET min_parallel_table_scan_size = 0", "SET parallel_leader_participation = off")
		leader := l.idOf(busy)
		l.Later(busy, "SELECT count(*) FROM t WHERE pg_sleep(0.1)::text = ''")
		defer func() { l.Exec(fmt.Sprintf("SELECT pg_terminate_backend(%d)", leader)) }()
		b := l.Until("sessions", "two workers", func(b series.Batch) bool { return samplertest.Reads(b, "sessions_active") == 2 && len(b.Sessions) == 3 })
		if other, used := samplertest.Reads(b, "sessions_other"), samplertest.Reads(b, "connections_used"); other != 2 || used != 2 {
			t.Errorf("%v sleep, %v connections: %+v", other, used, b)
		}
		help := 0
		for _, s := range b.Sessions {
			switch {
			case s.ID == leader && s.Active && s.Wait == "IPC:ExecuteGather":
			case s.User == fmt.Sprintf("parallel worker of %d", leader) && s.Active && s.Wait == "Timeout:PgSleep":
				help++
			default:
				t.Errorf("%+v", s)
			}
		}
		if help != 2 {
			t.Errorf("%d workers: %+v", help, b.Sessions)
		}
	})
}
