package watch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/test/sandbox"
)

// pg makes a scene with a PostgreSQL and a table of some 100 MB.
func pg(t *testing.T, settings string) *scene {
	t.Helper()
	s := place(t, ofPostgres)
	var err error
	s.server, err = s.box.Postgres(sandbox.PostgresOptions{Datadir: filepath.Join(s.dir, "postgres"), Port: 33398, Settings: settings})
	sandbox.Need(t, err)
	c := s.connect(t.Context())
	defer c.Close(context.Background())
	for _, q := range []string{"CREATE TABLE t (id int PRIMARY KEY, n int, pad text) WITH (fillfactor = 60)", "INSERT INTO t SELECT i, 0, repeat(md5(i::text), 12) FROM generate_series(1, 200000) i", "VACUUM FREEZE t", "CHECKPOINT"} {
		if _, err := c.Exec(t.Context(), q).ReadAll(); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	return s
}

func (s *scene) connect(ctx context.Context) *pgconn.PgConn {
	s.t.Helper()
	c, err := pgconn.Connect(ctx, fmt.Sprintf("host=%s port=%d user=postgres dbname=postgres sslmode=disable", s.server.Socket, s.server.Port))
	check_(s.t, err)
	return c
}

// updates has n clients change rows, each change a transaction of its own.
func (s *scene) updates(n int, think time.Duration) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		c := s.connect(ctx)
		all.Go(func() {
			defer c.Close(context.Background())
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				time.Sleep(think)
				if _, err := c.Exec(ctx, fmt.Sprintf("UPDATE t SET n = n + 1 WHERE id = %d", 1+r.IntN(190000))).ReadAll(); err != nil {
					return
				}
			}
		})
	}
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

// Incident 6: a log that is too small, so that checkpoints are requested again
// and again. It is raised beside log/flush, which may come first: commits wait.
func TestCheckpointsAreRequested(t *testing.T) {
	for name, c := range map[string]struct {
		size string
		want bool
	}{"incident": {"64MB", true}, "twin": {"4GB", false}} {
		t.Run(name, func(t *testing.T) {
			s := pg(t, "shared_buffers = 256MB\nsynchronous_commit = off\nmin_wal_size = 32MB\nmax_wal_size = "+c.size+"\n")
			s.watch()
			stop := s.updates(4, 0)
			defer stop()
			time.Sleep(100 * time.Second)
			m := s.judge.Moment(s.judge.Known())
			s.mu.Lock()
			got := s.all["log/checkpoint"]
			s.mu.Unlock()
			if got != c.want {
				t.Errorf("log/checkpoint was raised: %v, want %v", got, c.want)
			}
			s.t.Logf("RUN %s: raised %v", t.Name(), got)
			s.show(m)
		})
	}
}
