package watch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"plumb/test/sandbox"
)

// Purge has fallen behind, because what it removes is on pages that it has to read first, from a disk that takes 4 ms for
// each. InnoDB lets each change sleep until it has caught up, and no session says so. The twin's history may be longer.
func TestChangesWaitForPurge(t *testing.T) {
	for name, c := range map[string]struct{ lag, want string }{"incident": {"1000", "purge/lag"}, "twin": {"1000000", ""}} {
		t.Run(name, func(t *testing.T) {
			s := slow(t, ofMySQL).mariadb("innodb_buffer_pool_size=32M\ninnodb_log_file_size=512M\ninnodb_flush_log_at_trx_commit=0\n"+
				"innodb_purge_threads=1\ninnodb_max_purge_lag="+c.lag+"\ninnodb_max_purge_lag_delay=50000\n", nil)
			s.exec("CREATE TABLE w.hot (id INT PRIMARY KEY, n INT) ENGINE=InnoDB", "INSERT INTO w.hot SELECT seq, 0 FROM w.seq_1_to_1000")
			release := s.deleted(30000)
			s.disk.Become(sandbox.Speed{Each: 4 * time.Millisecond})
			release()
			s.watch()
			s.load(8, slowly(func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
				_, err := c.ExecContext(ctx, fmt.Sprintf("UPDATE w.hot SET n=n+1 WHERE id=%d", 1+r.IntN(1000)))
				return err
			}))
			s.incident(c.want, looked)
			s.t.Logf("%d transactions wait to be purged", s.history())
		})
	}
}

// deleted deletes rows all over the table, each in a transaction of its own, while somebody may still read them. Purge cannot begin
// before they are released.
func (s *scene) deleted(rows int) (release func()) {
	s.t.Helper()
	reader, err := s.db.Conn(s.t.Context())
	check_(s.t, err)
	_, err = reader.ExecContext(s.t.Context(), "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	check_(s.t, err)
	var all sync.WaitGroup
	for first := range 8 {
		all.Go(func() {
			for i := first; i < rows; i += 8 {
				if _, err := s.db.Exec(fmt.Sprintf("DELETE FROM w.t WHERE id=%d", 1+i*7919%190000)); err != nil {
					s.t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	if n := s.history(); n < rows {
		s.t.Fatalf("%d transactions wait to be purged, of %d", n, rows)
	}
	return func() {
		_, err := reader.ExecContext(s.t.Context(), "ROLLBACK") // the connection is used again
		check_(s.t, errors.Join(err, reader.Close()))
	}
}

// history is how many transactions wait to be purged.
func (s *scene) history() (n int) {
	s.t.Helper()
	var name string
	check_(s.t, s.db.QueryRow("SHOW GLOBAL STATUS LIKE 'Innodb_history_list_length'").Scan(&name, &n))
	return n
}

// Each change of a large value is more redo than the log buffer holds, so that it waits in between until some is written. The
// twin's buffer holds it, and it is written while nobody waits.
func TestTheLogBufferIsSmall(t *testing.T) {
	for name, c := range map[string]struct {
		buffer string
		want   bool
	}{"incident": {"2M", true}, "twin": {"64M", false}} {
		t.Run(name, func(t *testing.T) {
			s := slow(t, ofMySQL).mariadb("innodb_buffer_pool_size=512M\ninnodb_log_file_size=1G\ninnodb_adaptive_flushing=OFF\n"+
				"innodb_flush_log_at_trx_commit=0\ninnodb_log_buffer_size="+c.buffer+"\n", nil)
			s.exec("CREATE TABLE w.large (id INT PRIMARY KEY, v LONGBLOB) ENGINE=InnoDB")
			values := rand.NewChaCha8([32]byte{1}) // of what repeats there is hardly any redo
			for id := range 3 {
				v := make([]byte, 14<<20)
				values.Read(v)
				_, err := s.db.Exec("INSERT INTO w.large VALUES (?, ?)", id, v)
				check_(t, err)
			}
			s.disk.Become(sandbox.Speed{Each: 500 * time.Microsecond, Bytes: 10 << 20})
			s.watch()
			for id := range 2 {
				s.load(1, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
					time.Sleep(3 * time.Second)
					_, err := c.ExecContext(ctx, fmt.Sprintf("UPDATE w.large, (SELECT v FROM w.large WHERE id=2) other SET large.v=CONCAT('%016x', SUBSTR(other.v, 17)) WHERE id=%d", r.Uint64(), id))
					return err
				})
			}
			s.raised("log/buffer", c.want, looked)
			if c.want {
				s.leads("log/buffer")
			}
		})
	}
}
