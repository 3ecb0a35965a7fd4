package sampled

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/host"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// TestGroupLimit puts a server on a loop device that its control group may
// write to so many times a second: the limit and the group's writes are read,
// and the device's own, and all of them agree.
func TestGroupLimit(t *testing.T) {
	sandbox.NeedTime(t, "starts a server on a device with a limit: make test-real does")
	b, live := open(t)
	dir, err := b.Filesystem("fs", "ext4", 512, nil, "")
	sandbox.Need(t, err)
	my, err := b.MySQL(sandbox.MySQLOptions{Datadir: filepath.Join(dir, "my")})
	sandbox.Need(t, err)
	sandbox.Need(t, b.Throttle(dir, 400))
	s := look(t, live, my)
	fs := filesystemAt(t, s, dir)
	device := fs.Links["block"][0]
	group := s.Find(s.OfKind("process")[0].Links["cgroup"][0])
	of := "cgroup_device:" + group.Ref.Name + "@" + device.Name

	all := sources(s)
	limits := take(t, live, all, "cgroup "+group.Ref.Name+" limits")
	for _, name := range []string{"read_iops_limit", "write_iops_limit"} {
		if n := value(t, limits, of, name); n != 400 {
			t.Errorf("%s = %v, want 400", name, n)
		}
	}
	fast := named(t, all, "cgroup "+group.Ref.Name)
	before, disk := takeOne(t, live, fast), take(t, live, all, "block ")
	began := time.Now()
	syncs(t, filepath.Join(dir, "x"), 60)
	after, diskAfter := takeOne(t, live, fast), take(t, live, all, "block ")
	took := time.Since(began).Seconds()
	writes := value(t, after, of, "writes") - value(t, before, of, "writes")
	bytes := value(t, after, of, "written_bytes") - value(t, before, of, "written_bytes")
	if writes < 60 || writes > 400*(took+1) || bytes < 60*4096 {
		t.Errorf("%.0f writes of %.0f bytes were counted in %.2f s for 60 synced ones under a limit of 400", writes, bytes, took)
	}
	ref := device.String()
	written := value(t, diskAfter, ref, "written_bytes") - value(t, disk, ref, "written_bytes")
	if n := value(t, diskAfter, ref, "writes") - value(t, disk, ref, "writes"); n < 60 || written < 60*4096 {
		t.Errorf("the device counted %.0f writes of %.0f bytes", n, written)
	}
}

func filesystemAt(t *testing.T, s *stack.Stack, dir string) *stack.Thing {
	t.Helper()
	for _, fs := range s.OfKind("filesystem") {
		if fs.Text("mountpoint") == dir {
			return fs
		}
	}
	t.Fatalf("no filesystem at %s", dir)
	return nil
}

// syncs writes so many blocks, each durable before the next.
func syncs(t *testing.T, name string, n int) {
	t.Helper()
	f, err := os.Create(name)
	must(t, err)
	defer f.Close()
	for range n {
		_, err := f.Write(make([]byte, 4096))
		must(t, err)
		must(t, f.Sync())
	}
}

func named(t testing.TB, all []sample.Source, name string) sample.Source {
	t.Helper()
	for _, s := range all {
		if s.Name() == name {
			return s
		}
	}
	t.Fatalf("no source %q", name)
	return nil
}

func takeOne(t testing.TB, h host.Reader, s sample.Source) series.Batch {
	t.Helper()
	return take(t, h, []sample.Source{s}, "")
}

// TestProcessesOfPostgreSQL opens and ends sessions while the processes are
// added up: the sum never falls, although each session's process is gone.
func TestProcessesOfPostgreSQL(t *testing.T) {
	sandbox.NeedTime(t, "opens and ends sessions for four seconds: make test-real does")
	b, live := open(t)
	pg, err := b.Postgres(sandbox.PostgresOptions{})
	sandbox.Need(t, err)
	s := look(t, live, pg)
	fast := named(t, sources(s), fmt.Sprintf("process %d", pg.PID))
	of := fmt.Sprintf("process:%d", pg.PID)
	done := make(chan error, 1)
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		for ctx.Err() == nil {
			if err := burn(pg); err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	last, first, missed := -1.0, -1.0, 0
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		batch, err := fast.Take(context.Background(), live)
		if err != nil { // its processes come and go too fast: no value, and not a wrong one
			missed++
			continue
		}
		now := value(t, batch, of, "cpu_user_ms") + value(t, batch, of, "cpu_system_ms")
		if now < last {
			t.Errorf("the sum fell from %v to %v ms", last, now)
		}
		if last = now; first < 0 {
			first = now
		}
	}
	stop()
	must(t, <-done)
	if last-first < 100 {
		t.Errorf("sessions that computed for seconds used %v ms", last-first)
	}
	t.Logf("%v ms in 4 s; %d takes gave none", last-first, missed)
}

// burn opens a session, computes for a moment, and ends it.
func burn(pg *sandbox.Server) error {
	db, err := pg.Open()
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec("SELECT count(*) FROM generate_series(1, 100000)")
	return err
}

// TestSpaceGrows: what is added to a table and to the binary log is seen, apart.
func TestSpaceGrows(t *testing.T) {
	sandbox.NeedTime(t, "fills a server with data: make test-real does")
	b, live := open(t)
	my, err := b.MySQL(sandbox.MySQLOptions{Settings: "log_bin=binlog\nserver_id=7\nbinlog_format=ROW"})
	sandbox.Need(t, err)
	s := look(t, live, my)
	all := sources(s)
	db := s.OfKind("mysql")
	of := ""
	for _, r := range s.Roles {
		of = r.DB.String()
	}
	if of == "" || len(db) == 0 {
		t.Fatal("the server has no roles")
	}
	before := take(t, live, all, "space "+of)
	conn, err := my.Open()
	must(t, err)
	defer conn.Close()
	fill(t, conn)
	after := take(t, live, all, "space "+of)
	for name, least := range map[string]float64{"space_data": 4 << 20, "space_data_logical": 4 << 20, "space_binlog": 4 << 20, "space_redo": 0} {
		if grown := value(t, after, of, name) - value(t, before, of, name); grown < least {
			t.Errorf("%s grew by %v", name, grown)
		}
	}
	if du := diskUsage(t, my.Dir); value(t, after, of, "space_data")+value(t, after, of, "space_binlog")+value(t, after, of, "space_redo")+
		value(t, after, of, "space_undo")+value(t, after, of, "space_temporary") < 0.95*du {
		t.Errorf("of %v bytes in %s less than 95 %% were told", du, my.Dir)
	}
}

func fill(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, q := range []string{"CREATE DATABASE shop", "CREATE TABLE shop.t (id INT PRIMARY KEY AUTO_INCREMENT, x LONGTEXT)"} {
		_, err := db.Exec(q)
		must(t, err)
	}
	for range 16 {
		_, err := db.Exec("INSERT INTO shop.t (x) VALUES (?)", strings.Repeat("plumb line ", 100_000))
		must(t, err)
	}
	// The table's own file grows when its pages are written.
	_, err := db.Exec("FLUSH TABLES shop.t FOR EXPORT")
	must(t, err)
}

// diskUsage is what the files below a directory take.
func diskUsage(t *testing.T, dir string) (bytes float64) {
	t.Helper()
	must(t, filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			bytes += float64(blocks(info) * 512)
		}
		return nil
	}))
	return bytes
}

func blocks(info os.FileInfo) int64 { return info.Sys().(*syscall.Stat_t).Blocks }
