package watch

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"plumb/test/sandbox"
	"plumb/test/watch/counted"
)

// How long an incident is looked at: a verdict has 25 s.
const looked = 50 * time.Second

// Incident 1: more readers than the device serves in time. The twin's pool fits.
func TestADeviceIsSaturated(t *testing.T) {
	for name, c := range map[string]struct{ pool, want string }{"incident": {"16M", "device/saturated"}, "twin": {"512M", ""}} {
		t.Run(name, func(t *testing.T) {
			s := slow(t, ofMySQL).mariadb("innodb_buffer_pool_size="+c.pool+"\n", nil)
			s.disk.Become(sandbox.Speed{Each: time.Millisecond, IOPS: 600})
			s.watch()
			s.calm(60 * time.Second)
			work := readRow
			if c.want == "" {
				work = slowly(readRow)
			}
			stop := s.load(32, work)
			defer stop()
			s.incident(c.want, looked)
		})
	}
}

// Incident 1 with a limit: the disk below lets 500 requests a second through, as
// it did while it was learned what one request takes. That the limit is a control
// group's is raised too, because here it is. The twin's pool fits.
func TestTheDiskBelowIsLimited(t *testing.T) {
	for name, c := range map[string]struct {
		pool string
		want bool
	}{"incident": {"16M", true}, "twin": {"512M", false}} {
		t.Run(name, func(t *testing.T) {
			s := deep(t, ofMySQL).mariadb("innodb_buffer_pool_size="+c.pool+"\n", nil)
			sandbox.Need(t, s.box.Throttle(s.below, 500))
			s.watch()
			s.calm(60 * time.Second)
			work := readRow
			if !c.want {
				work = slowly(readRow)
			}
			s.load(8, work)
			s.raised("device/saturated", c.want, looked)
		})
	}
}

// Incident 3: a volume does 2,000 requests a second until its credits are used up, then 150. That
// many do not suffice, and what follows looks like a device that is saturated, until it has kept to its number for
// long enough. The twin's credits last.
func TestABurstIsUsedUp(t *testing.T) {
	volume := sandbox.Speed{Each: 4 * time.Millisecond, IOPS: 2000} // more than a busy machine adds
	for name, want := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			s := slow(t, ofMySQL).mariadb("innodb_buffer_pool_size=16M\n", nil)
			s.disk.Become(volume)
			s.watch()
			s.calm(60 * time.Second)
			s.load(8, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
				time.Sleep(10 * time.Millisecond)
				return readRow(ctx, c, r)
			})
			time.Sleep(20 * time.Second) // what the volume does while it has credits
			if want {
				s.disk.Become(sandbox.Speed{Each: volume.Each, IOPS: 150})
			}
			s.also("device/latency", "device/busy") // of eight readers whose pool is small
			s.raised("limit/volume", want, 60*time.Second)
			if want {
				s.leads("limit/volume")
			}
		})
	}
}

// Incident 15: four readers of a backup have the disk, which gives 60 MB a second. They were seen alone before, as on a
// night without load. The twin is alone.
func TestSomebodyElseHasTheDisk(t *testing.T) {
	for name, want := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			s := slow(t, ofMySQL).mariadb("innodb_buffer_pool_size=16M\n", nil)
			file := filepath.Join(s.dir, "dump")
			check_(t, exec.Command("dd", "if=/dev/zero", "of="+file, "bs=1M", "count=400", "oflag=direct").Run())
			s.disk.Become(sandbox.Speed{Each: 500 * time.Microsecond, IOPS: 3000, Bytes: 60 << 20})
			s.watch()
			s.calm(50 * time.Second)
			stop := backup(t, file, 1)
			time.Sleep(45 * time.Second)
			stop()
			if want {
				backup(t, file, 4)
			}
			s.load(3, slowly(readRow))
			s.also("device/latency", "device/busy") // their pool is small
			s.raised("intruder/others", want, looked)
			if want {
				s.leads("intruder/others")
			}
		})
	}
}

// backup has processes read a file again and again, past the page cache.
func backup(t *testing.T, file string, processes int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			for ctx.Err() == nil {
				err := exec.CommandContext(ctx, "dd", "if="+file, "of=/dev/null", "bs=256k", "iflag=direct").Run()
				if err != nil && ctx.Err() == nil {
					t.Errorf("backup: %v", err)
					return
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	t.Cleanup(stop)
	return stop
}

// Incident 19: the disk finishes nothing, because the filesystem that it is a file of is frozen.
func TestTheDiskHangs(t *testing.T) {
	for name, want := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			s := deep(t, ofMySQL).mariadb("innodb_buffer_pool_size=256M\ninnodb_flush_log_at_trx_commit=1\n", nil)
			s.watch()
			s.load(4, slowly(updateRow))
			time.Sleep(20 * time.Second)
			if want {
				thaw := sync.OnceFunc(func() { _ = exec.Command("fsfreeze", "-u", s.below).Run() })
				t.Cleanup(thaw) // before all that waits for it
				if out, err := exec.Command("fsfreeze", "-f", s.below).CombinedOutput(); err != nil {
					t.Skipf("fsfreeze does not work here: %v %s", err, out)
				}
				defer thaw()
			}
			s.also("log/flush") // four clients commit, and nothing else takes long
			s.raised("device/hung", want, 40*time.Second)
		})
	}
}

// Incident 18: five transactions a second.
func TestClientsAskForLittle(t *testing.T) {
	s := mariadb(t, "innodb_buffer_pool_size=256M\n", nil)
	s.watch()
	stop := s.load(1, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		time.Sleep(200 * time.Millisecond)
		return readRow(ctx, c, r)
	})
	defer stop()
	s.incident(idle, looked)
}

// Incident 2: a limit on the device's own number hides from diskstats.
func TestLimitOfAControlGroup(t *testing.T) {
	for name, c := range map[string]struct {
		iops int
		want string
	}{"incident": {500, "limit/cgroup"}, "twin": {50000, ""}} {
		t.Run(name, func(t *testing.T) {
			paths, wrap := own(t, "blkio")
			s := mariadb(t, "innodb_buffer_pool_size=16M\n", wrap)
			number := deviceNumber(t, s.device)
			s.watch()
			s.calm(40 * time.Second)
			write(t, paths["blkio"]+"/blkio.throttle.read_iops_device", fmt.Sprintf("%s %d", number, c.iops))
			think := 0 * time.Millisecond
			if c.want == "" {
				think = 20 * time.Millisecond
			}
			stop := s.load(4, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
				time.Sleep(think)
				return readRow(ctx, c, r)
			})
			defer stop()
			s.incident(c.want, looked)
		})
	}
}

// Incident 4: commits that must be durable one by one.
func TestCommitsWaitForTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		work func(context.Context, *sql.Conn, *rand.Rand) error
		want string
	}{"incident": {updateRow, "log/flush"}, "twin": {slowly(readRow), ""}} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\nlog_bin\nsync_binlog=1\ninnodb_flush_log_at_trx_commit=1\n", nil)
			s.watch()
			s.calm(40 * time.Second)
			stop := s.load(8, c.work)
			defer stop()
			s.incident(c.want, looked)
		})
	}
}

// slowly lets a client think between two statements.
func slowly(work func(context.Context, *sql.Conn, *rand.Rand) error) func(context.Context, *sql.Conn, *rand.Rand) error {
	return func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		time.Sleep(20 * time.Millisecond)
		return work(ctx, c, r)
	}
}

// Incident 5: a redo log that is too small.
func TestRedoLogTooSmall(t *testing.T) {
	for name, c := range map[string]struct {
		size, want string
	}{"incident": {"8M", "log/checkpoint"}, "twin": {"1G", ""}} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\ninnodb_log_file_size="+c.size+"\ninnodb_flush_log_at_trx_commit=0\n", nil)
			s.watch()
			s.calm(40 * time.Second)
			stop := s.load(8, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
				time.Sleep(20 * time.Millisecond) // so that processors suffice, and the log is what is short
				return updateRows(ctx, c, r)
			})
			defer stop()
			s.incident(c.want, looked)
		})
	}
}

// Incident 11: a quota of processor time. The twin has none.
func TestQuotaOfProcessors(t *testing.T) {
	for name, quota := range map[string]int{"incident": 30000, "twin": -1} {
		t.Run(name, func(t *testing.T) {
			paths, wrap := own(t, "cpu")
			s := mariadb(t, "innodb_buffer_pool_size=256M\n", wrap)
			s.watch()
			write(t, paths["cpu"]+"/cpu.cfs_quota_us", fmt.Sprint(quota))
			s.load(2, func(ctx context.Context, c *sql.Conn, _ *rand.Rand) error {
				var n int
				return c.QueryRowContext(ctx, "SELECT BENCHMARK(200000, MD5('x'))").Scan(&n)
			})
			if quota < 0 { // the same load, which can take all of the processors
				s.also("cpu/busy")
				s.raised("cpu/quota", false, looked)
				return
			}
			s.incident("cpu/quota", looked)
		})
	}
}

// Incident 12: a transaction that does nothing holds a row.
func TestAnIdleTransactionHoldsARow(t *testing.T) {
	for name, c := range map[string]struct {
		row  int
		want string
	}{"incident": {7, "lock/blocked"}, "twin": {199999, ""}} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\ninnodb_lock_wait_timeout=60\ninnodb_flush_log_at_trx_commit=0\n", nil)
			s.watch()
			tx, err := s.db.Begin()
			check_(t, err)
			defer tx.Rollback()
			_, err = tx.Exec(fmt.Sprintf("UPDATE w.t SET n=n+1 WHERE id=%d", c.row))
			check_(t, err)
			stop := s.load(4, func(ctx context.Context, c *sql.Conn, _ *rand.Rand) error {
				time.Sleep(20 * time.Millisecond)
				_, err := c.ExecContext(ctx, "UPDATE w.t SET n=n+1 WHERE id=7")
				return err
			})
			defer stop()
			s.incident(c.want, looked)
		})
	}
}

// Incident 14: no connection is left.
func TestNoConnectionIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		clients int
		want    string
	}{"incident": {19, "slots/connections"}, "twin": {5, ""}} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\nmax_connections=20\n", nil)
			s.watch()
			stop := s.load(c.clients, func(ctx context.Context, c *sql.Conn, _ *rand.Rand) error {
				_, err := c.ExecContext(ctx, "DO SLEEP(1)")
				return err
			})
			defer stop()
			s.incident(c.want, looked)
		})
	}
}

// All threads of the pool are taken by statements that only wait, and processors and disks have nothing to do. The twin's
// pool may have as many threads as it needs.
func TestRequestsWaitForAThread(t *testing.T) {
	for name, c := range map[string]struct {
		threads, want string
	}{"incident": {"4", "slots/thread-pool"}, "twin": {"500", ""}} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\nthread_handling=pool-of-threads\nthread_pool_size=1\nthread_pool_max_threads="+c.threads+"\n", nil)
			s.watch()
			stop := s.load(12, func(ctx context.Context, c *sql.Conn, _ *rand.Rand) error {
				_, err := c.ExecContext(ctx, "DO SLEEP(0.02)")
				return err
			})
			defer stop()
			s.incident(c.want, looked)
		})
	}
}

// Incident 7: a pool of 24 MB, and more writes than its pages are flushed for.
func TestSessionsMakeRoomInThePool(t *testing.T) {
	for name, c := range map[string]struct {
		pool string
		want bool
	}{"incident": {"24M", true}, "twin": {"512M", false}} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size="+c.pool+"\ninnodb_log_file_size=1G\ninnodb_flush_log_at_trx_commit=0\n", nil)
			s.watch()
			s.load(16, updateRows)
			s.also("cpu/busy", "log/checkpoint", "lock/latch") // sixteen clients change one table as fast as they can, and nothing else holds them
			s.raised("pool/free-pages", c.want, looked)
		})
	}
}

// Incident 13: one row that all want, and commits that are slow. The lock is
// raised as what the log looks like from above; the twin's clients want rows of their own.
func TestHotRowIsASymptomOfTheLog(t *testing.T) {
	for name, hot := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\nlog_bin\nsync_binlog=1\ninnodb_flush_log_at_trx_commit=1\n", nil)
			s.watch()
			s.load(8, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
				if !hot {
					return slowly(readRow)(ctx, c, r)
				}
				_, err := c.ExecContext(ctx, "UPDATE w.t SET n=n+1 WHERE id=7")
				return err
			})
			s.raised("lock/blocked", hot, looked)
		})
	}
}

// Incident 17: an index that is gone, so that each statement reads the table.
func TestAnIndexIsGone(t *testing.T) {
	for name, c := range map[string]struct {
		index, want string
	}{"incident": {"", "cpu/busy"}, "twin": {"CREATE INDEX n ON w.t (n)", ""}} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\n", nil)
			s.exec("UPDATE w.t SET n=id")
			if c.index != "" {
				s.exec(c.index)
			}
			s.watch()
			s.load(6, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
				time.Sleep(20 * time.Millisecond)
				var id int
				return c.QueryRowContext(ctx, fmt.Sprintf("SELECT id FROM w.t WHERE n=%d", 1+r.IntN(190000))).Scan(&id)
			})
			s.incident(c.want, looked)
		})
	}
}

// Incident 17 for somebody who watched before: the statement that takes the time has become slower.
// The twin's clients ask for it more often.
func TestAStatementIsSlower(t *testing.T) {
	byNumber := func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
		time.Sleep(20 * time.Millisecond)
		var id int
		return c.QueryRowContext(ctx, fmt.Sprintf("SELECT id FROM w.t WHERE n=%d", 1+r.IntN(190000))).Scan(&id)
	}
	for name, dropped := range map[string]bool{"incident": true, "twin": false} {
		t.Run(name, func(t *testing.T) {
			s := mariadb(t, "innodb_buffer_pool_size=256M\n", nil)
			s.exec("UPDATE w.t SET n=id", "CREATE INDEX n ON w.t (n)")
			s.watch()
			s.load(2, byNumber)
			time.Sleep(75 * time.Second) // a minute is compared with the one before
			if dropped {
				s.exec("DROP INDEX n ON w.t")
			} else {
				s.load(8, byNumber)
			}
			time.Sleep(60 * time.Second)
			s.grew("`n` = ?", dropped)
		})
	}
}

// A healthy hour: clients that think read and write, pages are flushed and checkpoints made, and nothing is raised.
func TestAHealthyHour(t *testing.T) {
	sandbox.NeedFull(t, "it takes an hour: make counted COUNTED='-full -only Hour -runs 1'")
	t.Run("twin", func(t *testing.T) {
		s := mariadb(t, "innodb_buffer_pool_size=256M\ninnodb_log_file_size=1G\nlog_bin\n", nil)
		s.watch()
		s.load(4, func(ctx context.Context, c *sql.Conn, r *rand.Rand) error {
			time.Sleep(50 * time.Millisecond)
			if r.IntN(4) == 0 {
				return updateRow(ctx, c, r)
			}
			return readRow(ctx, c, r)
		})
		s.incident("", time.Hour)
	})
}

// grew wants a statement to take more time than it did: by its calls being slower, or by their number.
func (s *scene) grew(text string, slower bool) {
	s.t.Helper()
	for _, of := range s.judge.Moment(s.judge.Known()).Servers {
		for _, c := range of.Statements {
			if of.Ref != s.ref || !strings.Contains(c.Text, text) {
				continue
			}
			if c.SlowerCalls == nil || c.MoreCalls == nil {
				s.t.Fatalf("nobody can tell what %s cost before", c.Text)
			}
			verdict := "RIGHT"
			if (*c.SlowerCalls > *c.MoreCalls) != slower || *c.SlowerCalls+*c.MoreCalls <= 0 {
				verdict = "WRONG"
				s.t.Errorf("%s: %.3f s slower, %.3f s more often; want slower %v", c.Text, *c.SlowerCalls, *c.MoreCalls, slower)
			}
			s.t.Logf("RUN %s %s: %.3f s slower, %.3f s more often: %s", verdict, s.t.Name(), *c.SlowerCalls, *c.MoreCalls, c.Text)
			words := map[bool]string{true: "slower", false: "more often"}
			s.count(counted.Run{Wanted: words[slower], Said: words[*c.SlowerCalls > *c.MoreCalls], Right: verdict == "RIGHT"}, 0)
			return
		}
	}
	s.t.Fatalf("no statement with %s is listed", text)
}
