package watch

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"plumb/test/sandbox"
)

// pg makes a scene with a PostgreSQL and a table of some 100 MB.
func pg(t *testing.T, settings string) *scene { return pgIn(t, settings, nil) }

// pgIn has it run by a command that puts it somewhere; nil for none.
func pgIn(t *testing.T, settings string, wrap func(*sandbox.Box) ([]string, error)) *scene {
	t.Helper()
	return place(t, ofPostgres).postgres(settings, wrap)
}

func (s *scene) postgres(settings string, wrap func(*sandbox.Box) ([]string, error)) *scene {
	t := s.t
	t.Helper()
	o := sandbox.PostgresOptions{Bindir: s.bindir, Datadir: filepath.Join(s.dir, "postgres"), Port: sandbox.FreePort(s.t), Settings: settings}
	var err error
	if wrap != nil {
		o.Wrap, err = wrap(s.box)
		sandbox.Need(t, err)
	}
	s.server, err = s.box.Postgres(o)
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

// asking has n clients ask for what next gives, each again when it was answered
// and has thought about it. What a client's server refuses ends that client.
func (s *scene) asking(n int, think time.Duration, next func(r *rand.Rand) string) (stop func()) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for i := range n {
		c := s.connect(ctx)
		all.Go(func() {
			defer c.Close(context.Background())
			r := rand.New(rand.NewPCG(1, uint64(i)))
			for ctx.Err() == nil {
				time.Sleep(think)
				if _, err := c.Exec(ctx, next(r)).ReadAll(); err != nil {
					if ctx.Err() == nil {
						s.t.Logf("a client was refused: %v", err)
					}
					return
				}
				s.answered.Add(1)
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	s.t.Cleanup(stop)
	return stop
}

func oneUpdate(r *rand.Rand) string {
	return fmt.Sprintf("UPDATE t SET n = n + 1 WHERE id = %d", 1+r.IntN(190000))
}

func oneRead(r *rand.Rand) string {
	return fmt.Sprintf("SELECT pad FROM t WHERE id = %d", 1+r.IntN(190000))
}

// quiet teaches what the disk does unloaded, by one slow client.
func (s *scene) quiet(d time.Duration) {
	s.t.Helper()
	stop := s.asking(1, 2*time.Millisecond, oneRead)
	time.Sleep(d)
	stop()
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
			s.asking(4, 0, oneUpdate)
			s.also("cpu/busy") // nobody waits for anything else
			s.raised("log/checkpoint", c.want, 100*time.Second)
		})
	}
}

// Incident 12 on PostgreSQL: somebody holds a row, idle in a transaction or at
// work in it. The twin holds a row that nobody wants.
func TestPostgresRowIsHeld(t *testing.T) {
	for name, c := range map[string]struct {
		row  int
		then string // what who holds it does
		want string
	}{"idle": {7, "", "lock/blocked"}, "at work": {7, "SELECT pg_sleep(300)", "lock/blocked"}, "twin": {199999, "", ""}} {
		t.Run(name, func(t *testing.T) {
			s := pg(t, "shared_buffers = 256MB\nsynchronous_commit = off\n")
			s.watch()
			holder := s.connect(t.Context())
			_, err := holder.Exec(t.Context(), fmt.Sprintf("BEGIN; UPDATE t SET n = n + 1 WHERE id = %d", c.row)).ReadAll()
			check_(t, err)
			ctx, cancel := context.WithCancel(context.Background())
			var working sync.WaitGroup
			t.Cleanup(func() { cancel(); working.Wait(); holder.Close(context.Background()) })
			if c.then != "" {
				working.Go(func() { _, _ = holder.Exec(ctx, c.then).ReadAll() }) // until it is cancelled
			}
			stop := s.asking(4, 20*time.Millisecond, func(*rand.Rand) string { return "UPDATE t SET n = n + 1 WHERE id = 7" })
			s.incident(c.want, looked)
			cancel()
			working.Wait()
			holder.Close(context.Background()) // lets them go
			stop()
		})
	}
}

// Incident 14 on PostgreSQL: no place is left but those of superusers.
func TestPostgresNoPlaceIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		clients int
		want    string
	}{"incident": {17, "slots/connections"}, "twin": {5, ""}} {
		t.Run(name, func(t *testing.T) {
			s := pg(t, "shared_buffers = 256MB\nmax_connections = 20\nsuperuser_reserved_connections = 3\n")
			s.watch()
			s.asking(c.clients, 0, func(*rand.Rand) string { return "SELECT pg_sleep(1)" })
			s.incident(c.want, looked)
		})
	}
}

// Incident 4 on PostgreSQL: commits that must be durable one by one. The twin reads.
func TestPostgresCommitsWaitForTheLog(t *testing.T) {
	for name, c := range map[string]struct {
		next  func(*rand.Rand) string
		think time.Duration
		want  string
	}{"incident": {oneUpdate, 0, "log/flush"}, "twin": {oneRead, 20 * time.Millisecond, ""}} {
		t.Run(name, func(t *testing.T) {
			s := pg(t, "shared_buffers = 256MB\nmax_wal_size = 4GB\n")
			s.watch()
			s.quiet(40 * time.Second) // one client that commits would wait for the log already
			s.asking(8, c.think, c.next)
			s.incident(c.want, looked)
		})
	}
}

// Incident 1 on PostgreSQL: more readers than the device serves at a time. The
// page cache would serve all of the table, so a control group bounds it; the
// twin's table fits into its shared buffers.
func TestPostgresDeviceIsSaturated(t *testing.T) {
	for name, c := range map[string]struct {
		buffers string
		memory  int64
		think   time.Duration
		want    string
	}{"incident": {"16MB", 96 << 20, 0, "device/saturated"}, "twin": {"512MB", 1 << 30, 20 * time.Millisecond, ""}} {
		t.Run(name, func(t *testing.T) {
			s := pgIn(t, "shared_buffers = "+c.buffers+"\n", func(b *sandbox.Box) ([]string, error) { return b.Cgroup(c.memory) })
			s.watch()
			s.quiet(60 * time.Second)
			s.asking(32, c.think, oneRead)
			s.incident(c.want, looked)
		})
	}
}

// Incident 8: sessions must write pages themselves, because the buffers are few
// and the background writer is off. Before 16 a server does not tell whose writes those are.
func TestPostgresSessionsMakeRoom(t *testing.T) {
	for name, c := range map[string]struct {
		settings string
		want     bool
	}{"incident": {"shared_buffers = 16MB\nbgwriter_lru_maxpages = 0\n", true}, "twin": {"shared_buffers = 512MB\n", false}} {
		t.Run(name, func(t *testing.T) {
			bin, err := sandbox.PostgresTree("18") // it needs pg_stat_io, which came with 16
			sandbox.Need(t, err)
			s := place(t, ofPostgres)
			s.bindir = bin
			s.postgres(c.settings+"synchronous_commit = off\nmax_wal_size = 4GB\n", nil)
			s.watch()
			s.asking(4, 0, oneUpdate)
			s.also("cpu/busy") // nobody waits for anything else
			s.raised("pool/free-pages", c.want, looked)
		})
	}
}

// Incident 16: commits wait for a standby that does not answer. There is none at
// all, which a session's wait cannot be told from one that was stopped; the twin's commits
// are local.
func TestCommitsWaitForAStandby(t *testing.T) {
	for name, c := range map[string]struct{ commit, want string }{"incident": {"on", "replica/ack"}, "twin": {"local", ""}} {
		t.Run(name, func(t *testing.T) {
			s := pg(t, "shared_buffers = 256MB\nmax_wal_size = 4GB\nfsync = off\nsynchronous_commit = "+c.commit+"\n")
			admin := s.connect(t.Context())
			defer admin.Close(context.Background())
			for _, q := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'nobody'", "SELECT pg_reload_conf()"} {
				_, err := admin.Exec(t.Context(), q).ReadAll()
				check_(t, err)
			}
			s.watch()
			s.asking(4, 20*time.Millisecond, oneUpdate)
			s.incident(c.want, looked)
		})
	}
}

// Incident 16 with a standby that stops in the middle. The twin's commits do not wait for it.
func TestAStandbyStops(t *testing.T) {
	for name, c := range map[string]struct{ commit, want string }{"incident": {"on", "replica/ack"}, "twin": {"local", ""}} {
		t.Run(name, func(t *testing.T) {
			s := pg(t, "shared_buffers = 256MB\nmax_wal_size = 4GB\nfsync = off\nwal_sender_timeout = 0\nsynchronous_commit = "+c.commit+"\n")
			pause(t, s.standby().PID)
			s.watch()
			s.asking(4, 20*time.Millisecond, oneUpdate)
			s.incident(c.want, looked)
		})
	}
}

// A healthy hour of PostgreSQL, with a checkpoint every five minutes.
func TestAHealthyHourOfPostgres(t *testing.T) {
	sandbox.NeedFull(t, "it takes an hour: make counted COUNTED='-full -only Hour -runs 1'")
	t.Run("twin", func(t *testing.T) {
		s := pg(t, "shared_buffers = 256MB\nmax_wal_size = 4GB\ncheckpoint_timeout = 5min\n")
		s.watch()
		s.asking(4, 50*time.Millisecond, func(r *rand.Rand) string {
			if r.IntN(4) == 0 {
				return oneUpdate(r)
			}
			return oneRead(r)
		})
		s.incident("", time.Hour)
	})
}

// standby makes one for which commits wait, and gives it when it streams.
func (s *scene) standby() *sandbox.Server {
	t := s.t
	t.Helper()
	base, _ := filepath.Glob("/usr/lib/postgresql/*/bin/pg_basebackup")
	if len(base) == 0 {
		t.Skip("no pg_basebackup: apt-get install postgresql-client")
	}
	data, err := s.box.Mkdir(filepath.Join(s.dir, "copy"))
	check_(t, err)
	check_(t, os.Chmod(data, 0o700))
	cmd := exec.Command(base[len(base)-1], "-h", s.server.Socket, "-p", fmt.Sprint(s.server.Port), "-U", "postgres", "-D", data, "-R", "-c", "fast")
	if uid, gid := s.box.User(); os.Getuid() == 0 {
		cmd.Dir, cmd.SysProcAttr = s.box.Dir, &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v %s", err, out)
	}
	conf, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	check_(t, err)
	port := sandbox.FreePort(s.t)
	fmt.Fprintf(conf, "\nport = %d\nunix_socket_directories = '%s'\n", port, filepath.Join(s.box.Dir, "copy-run"))
	check_(t, conf.Close())
	made, err := s.box.Postgres(sandbox.PostgresOptions{Name: "copy", Datadir: data, Port: port})
	check_(t, err)
	c := s.connect(t.Context())
	defer c.Close(context.Background())
	for _, q := range []string{"ALTER SYSTEM SET synchronous_standby_names = '*'", "SELECT pg_reload_conf()"} {
		_, err := c.Exec(t.Context(), q).ReadAll()
		check_(t, err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		r, err := c.Exec(t.Context(), "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync'").ReadAll()
		check_(t, err)
		if len(r[0].Rows) == 1 {
			return made
		}
		if time.Now().After(end) {
			t.Fatal("the standby does not stream")
		}
	}
}

// pause stops a server with all its processes until the scene is over.
func pause(t *testing.T, pid int) {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	check_(t, err)
	for _, word := range append(strings.Fields(string(text)), strconv.Itoa(pid)) {
		of, err := strconv.Atoi(word)
		check_(t, err)
		check_(t, syscall.Kill(of, syscall.SIGSTOP))
		t.Cleanup(func() { _ = syscall.Kill(of, syscall.SIGCONT) })
	}
}
