package point_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"plumb/internal/engine/mysql"
	"plumb/internal/engine/mysql/point"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/internal/system/process"
	"plumb/test/sandbox"
)

// source is a real server, as a check sees it.
type source struct {
	t       *testing.T
	box     *sandbox.Box
	options sandbox.MySQLOptions
	server  *sandbox.Server
	db      *sql.DB
	doer    *host.LiveDoer
	engine  *point.Engine
	seen    *stack.Stack
	sv      protect.Server
	target  host.Target
}

// servers are those that the tests run on.
func servers() map[string]func() (sandbox.MySQLOptions, error) {
	return map[string]func() (sandbox.MySQLOptions, error){
		"MariaDB": func() (sandbox.MySQLOptions, error) { return sandbox.MySQLOptions{}, nil },
		"MariaDB 11.4": func() (sandbox.MySQLOptions, error) {
			base, err := sandbox.MariaDBTree()
			return sandbox.MySQLOptions{Basedir: base}, err
		},
		"MySQL": func() (sandbox.MySQLOptions, error) {
			base, loader, err := sandbox.MySQLTree()
			return sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true}, err
		},
	}
}

// onEach runs a test on a server of each kind, which keeps a binary log in a directory
// of its own, by its full path.
func onEach(t *testing.T, f func(*source)) {
	onEachWith(t, func(*sandbox.Box, *sandbox.MySQLOptions) {}, f)
}

// onEachWith does so with other options.
func onEachWith(t *testing.T, with func(*sandbox.Box, *sandbox.MySQLOptions), f func(*source)) {
	sandbox.NeedLong(t, "starts real servers: run without -short")
	for name, options := range servers() {
		t.Run(name, func(t *testing.T) {
			if name != "MariaDB" {
				sandbox.NeedTime(t, "other servers than the installed one: PLUMB_REAL=1")
			}
			f(begin(t, options, with))
		})
	}
}

func begin(t *testing.T, options func() (sandbox.MySQLOptions, error), with func(*sandbox.Box, *sandbox.MySQLOptions)) *source {
	t.Helper()
	o, err := options()
	sandbox.Need(t, err)
	box := sandbox.ForTest(t, "")
	logs, err := box.Mkdir("logs")
	sandbox.Need(t, err)
	o.Port = sandbox.FreePort(t)
	o.Settings += "innodb_buffer_pool_size = 64M\nsync_binlog = 0\nserver_id = 7\nlog_bin = " + logs + "/bin\n"
	if o.Native {
		o.Settings += "gtid_mode = ON\nenforce_gtid_consistency = ON\ninnodb_directories = " + logs + "\n"
	}
	with(box, &o)
	s := &source{t: t, box: box, options: o}
	s.server, err = box.MySQL(o)
	sandbox.Need(t, err)
	s.log()
	s.exec("CREATE DATABASE shop", "CREATE TABLE shop.t (id BIGINT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200)) ENGINE=InnoDB")
	s.look()
	return s
}

// log logs in.
func (s *source) log() {
	var err error
	s.db, err = s.server.Open()
	sandbox.Need(s.t, err)
	s.t.Cleanup(func() { s.db.Close() })
	s.doer = host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: s.dialers(), DSN: "root@unix(" + s.server.Socket + ")/"}))
	s.t.Cleanup(func() { s.doer.Close() })
}

func (*source) dialers() map[string]host.Dialer {
	return map[string]host.Dialer{"mysql": mysql.Dialer{}}
}

// attach looks at a server that another process has started.
func attach(t *testing.T, socket string) *source {
	t.Helper()
	s := &source{t: t, server: &sandbox.Server{Engine: "mysql", Socket: socket, User: "root"}}
	s.log()
	var file string
	if err := s.db.QueryRow("SELECT @@pid_file").Scan(&file); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	sandbox.Need(t, err)
	s.server.PID, err = strconv.Atoi(strings.TrimSpace(string(text)))
	sandbox.Need(t, err)
	s.look()
	return s
}

func (s *source) exec(statements ...string) {
	s.t.Helper()
	if err := s.server.Exec(statements...); err != nil {
		s.t.Fatal(err)
	}
}

// look sees the server as a check does, and describes it.
func (s *source) look() {
	s.t.Helper()
	cat := hosttest.Catalog(s.t)
	given, err := mysql.Given("root@unix(" + s.server.Socket + ")/")
	sandbox.Need(s.t, err)
	s.seen = &stack.Stack{}
	obs, err := process.Probe{}.Collect(s.t.Context(), s.doer, s.seen)
	sandbox.Need(s.t, err)
	pid := stack.Ref{Kind: "process", Name: strconv.Itoa(s.server.PID)}
	obs.Things = slices.DeleteFunc(obs.Things, func(p *stack.Thing) bool { return p.Ref.Kind == "process" && p.Ref != pid })
	s.seen.Add("process", obs)
	obs, err = mysql.NewProbe(cat, &given).Collect(s.t.Context(), s.doer, s.seen)
	if err != nil || len(obs.Things) != 1 {
		s.t.Fatalf("%d servers: %v", len(obs.Things), err)
	}
	s.seen.Add("mysql", obs)
	s.engine = point.New(cat, &given)
	if s.sv, s.target, err = s.engine.Describe(s.t.Context(), s.doer, s.seen, obs.Things[0].Ref); err != nil {
		s.t.Fatal(err)
	}
}

// mode gives a mode of a set that is one volume.
func (s *source) mode(name string, set protect.Set) protect.Mode {
	s.t.Helper()
	all, err := s.engine.Modes(s.t.Context(), s.doer, s.target, s.seen, s.sv, set)
	if err != nil {
		s.t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(m protect.Mode) bool { return m.Name == name })
	if i < 0 || len(all) != 4 {
		s.t.Fatalf("modes: %+v", all)
	}
	return all[i]
}

func (s *source) hold() host.Held {
	s.t.Helper()
	h, err := s.doer.Hold(s.t.Context(), s.target)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = h.Close() })
	return h
}

func (s *source) quiesce(h host.Held) protect.Quiet {
	s.t.Helper()
	q, err := s.engine.Quiesce(s.t.Context(), h, s.mode(protect.ModeLocked, protect.Set{}), 10*time.Second)
	if err != nil {
		s.t.Fatal(err)
	}
	return q
}

// load commits from several sessions until stop is called. done counts what was acknowledged.
func (s *source) load() (done *atomic.Int64, stop func()) {
	done = &atomic.Int64{}
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.db.Exec("INSERT INTO shop.t (v) VALUES (REPEAT('x', 150))"); err == nil {
					done.Add(1)
				}
			}
		})
	}
	stop = sync.OnceFunc(func() { cancel(); all.Wait() })
	s.t.Cleanup(stop)
	for late := time.Now().Add(10 * time.Second); done.Load() < 50 && time.Now().Before(late); {
		time.Sleep(10 * time.Millisecond)
	}
	return done, stop
}

// counted waits until what was committed is acknowledged, while nothing more can be.
func (s *source) counted(done *atomic.Int64) int64 {
	s.t.Helper()
	var rows int64
	if err := s.db.QueryRow("SELECT COUNT(*) FROM shop.t").Scan(&rows); err != nil {
		s.t.Fatal(err)
	}
	for late := time.Now().Add(time.Minute); done.Load() != rows; time.Sleep(time.Millisecond) {
		if time.Now().After(late) {
			s.t.Fatalf("%d rows, and %d were acknowledged", rows, done.Load())
		}
	}
	return rows
}

// image copies the server's directories at one moment: its process stands still
// meanwhile, as no snapshots are to be had everywhere. It gives the copy's root.
func (s *source) image(name string) string {
	s.t.Helper()
	root := filepath.Join(s.box.Dir, name, "root")
	if err := errors.Join(syscall.Kill(s.server.PID, syscall.SIGSTOP), s.still()); err != nil {
		s.t.Fatal(err)
	}
	defer syscall.Kill(s.server.PID, syscall.SIGCONT)
	for _, d := range s.sv.Dirs {
		to := root + filepath.Dir(d.Path)
		if _, err := os.Lstat(root + d.Path); err == nil {
			continue
		}
		if err := os.MkdirAll(to, 0o755); err != nil {
			s.t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-a", "--reflink=auto", "--", d.Path, to).CombinedOutput(); err != nil {
			s.t.Fatalf("%v: %s", err, out)
		}
	}
	return root
}

// still waits until every thread of the server stands.
func (s *source) still() error {
	for range 30_000 {
		tasks, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", s.server.PID))
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(tasks, func(f string) bool {
			text, err := os.ReadFile(f)
			_, state, _ := strings.Cut(string(text), ") ")
			return err == nil && state[0] != 'T'
		}) {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return errors.New("the server does not stand still")
}

// copyOf makes a copy of an image, closed.
func (s *source) copyOf(root string, at protect.Position) protect.Copy {
	s.t.Helper()
	run := filepath.Join(filepath.Dir(root), "run")
	if err := errors.Join(os.MkdirAll(run, 0o700), os.Chown(run, s.sv.UID, s.sv.GID)); err != nil {
		s.t.Fatal(err)
	}
	return protect.Copy{Server: s.sv, Position: at, Purpose: protect.ForDrill, Root: root, Run: run, Closed: true, Memory: 64 << 20, Number: 4711}
}

// running is a copy that runs.
type running struct {
	load.Admin
	pid  int
	stop func()
}

// start starts a copy that was neutralised.
func (s *source) start(c protect.Copy) running {
	s.t.Helper()
	p, sig, log, err := s.engine.Serve(c)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := s.doer.Start(s.t.Context(), p)
	if err != nil {
		s.t.Fatal(err)
	}
	stop := sync.OnceFunc(func() { _ = r.Signal(sig); <-r.Done() })
	s.t.Cleanup(stop)
	for late := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		a, err := s.engine.Open(s.t.Context(), c)
		if err == nil {
			s.t.Cleanup(func() { _ = a.Close() })
			return running{a, r.PID(), stop}
		}
		select {
		case <-r.Done():
		default:
			if time.Now().Before(late) {
				continue
			}
		}
		text, _ := os.ReadFile(log)
		s.t.Fatalf("the copy does not answer: %v\n%s", err, text[max(0, len(text)-4000):])
	}
}

func (r running) number(t *testing.T, q string) int64 {
	t.Helper()
	rows, err := r.Query(t.Context(), q)
	if err != nil || len(rows.Values) != 1 {
		t.Fatalf("%s: %v, %v", q, rows, err)
	}
	n, err := strconv.ParseInt(host.Text(rows.Values[0], 0), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// apart fails when a copy has a file of its source's open.
func (s *source) apart(r running, c protect.Copy) {
	s.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", r.pid))
	if err != nil || len(files) < 10 {
		s.t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		to, _ := os.Readlink(f)
		for _, d := range s.sv.Dirs {
			if strings.HasPrefix(to, d.Path+"/") {
				s.t.Errorf("the copy has the source's %s open", to)
			}
		}
	}
}

func (s *source) sound(a load.Admin, c protect.Copy, full bool) {
	s.t.Helper()
	checks, err := s.engine.Check(s.t.Context(), a, c, full)
	if err != nil {
		s.t.Fatal(err)
	}
	if c.Position.Known() && c.Purpose == protect.ForDrill {
		is, err := s.engine.Recovered(s.t.Context(), a, c)
		if err != nil {
			s.t.Fatal(err)
		}
		at, err := s.engine.Reached(s.t.Context(), a, c, is)
		if err != nil {
			s.t.Fatal(err)
		}
		checks = append(checks, at)
	}
	for _, one := range checks {
		if s.t.Log(one.What); one.Wrong != "" {
			s.t.Errorf("%s: %s", one.What, one.Wrong)
		}
	}
}

// Under load a point is taken while the lock is held: nothing is committed
// meanwhile, and a copy recovers exactly the position, with every commit that was acknowledged.
func TestPointUnderLoad(t *testing.T) {
	onEach(t, func(s *source) {
		t := s.t
		t.Log(s.sv.Product, s.sv.Program, s.sv.Dirs)
		done, stop := s.load() // of rows there are no others
		index, _ := os.ReadFile(s.sv.Settings["log_bin_index"])
		h := s.hold()
		q := s.quiesce(h)
		at, err := q.Position(t.Context())
		if err != nil || at.File == "" || at.GTID == "" {
			t.Fatalf("%+v, %v", at, err)
		}
		before := s.counted(done)
		root := s.image("copy")
		time.Sleep(300 * time.Millisecond)
		again, err := q.Position(t.Context())
		if during := done.Load() - before; err != nil || again != at || during != 0 {
			t.Errorf("from %+v to %+v, %d commits: %v", at, again, during, err)
		}
		if err := h.Whole(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := q.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
		for late := time.Now().Add(time.Minute); done.Load() == before; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(late) {
				t.Fatal("nobody commits after the release")
			}
		}
		later, err := s.engine.Position(t.Context(), s.doer, s.target)
		if err != nil || s.engine.Same(at, later) == "" {
			t.Errorf("the position without a lock: %+v, %v", later, err)
		}
		stop()

		s.recovers(s.copyOf(root, at), before, string(index))
	})
}

// recovers starts a copy, which must be where the point was, with all rows, and leave the
// source alone.
func (s *source) recovers(c protect.Copy, rows int64, index string) {
	t, at := s.t, c.Position
	if err := s.engine.Neutralise(t.Context(), s.doer, c); err != nil {
		t.Fatal(err)
	}
	r := s.start(c)
	got, err := s.engine.Recovered(t.Context(), r, c)
	if why := s.engine.Same(at, got); err != nil || why != "" {
		t.Errorf("%v: %s", err, why)
	}
	if n := r.number(t, "SELECT COUNT(*) FROM shop.t"); n != rows {
		t.Errorf("the copy has %d rows, and %d were acknowledged", n, rows)
	}
	s.sound(r, c, false)
	s.sound(r, c, true)
	s.apart(r, c)
	if n := r.number(t, "SELECT @@server_id"); n != 4711 {
		t.Errorf("the copy is server %d", n)
	}
	if s.sv.Identity != "" && r.number(t, "SELECT COUNT(*) FROM DUAL WHERE @@server_uuid = '"+s.sv.Identity+"'") != 0 {
		t.Error("the copy has the source's UUID")
	}
	if now, _ := os.ReadFile(s.sv.Settings["log_bin_index"]); string(now) != index {
		t.Errorf("the source's index was %q and is %q", index, now)
	}
	r.stop()

	// A copy that was recovered starts again, and what it wrote itself is not taken for the source's.
	r = s.start(c)
	if got, err = s.engine.Recovered(t.Context(), r, c); err != nil || got.File != at.File || got.Offset != at.Offset {
		t.Errorf("started again: %+v, %v", got, err)
	}
	r.stop()
	if err := s.engine.Purge(t.Context(), s.doer, c); err != nil {
		t.Fatal(err)
	}
	left, _ := filepath.Glob(c.Root + filepath.Dir(s.sv.Settings["log_bin_index"]) + "/bin.*")
	r = s.start(c)
	if len(left) != 0 || r.number(t, "SELECT COUNT(*) FROM shop.t") != rows {
		t.Errorf("binary logs after the purge: %v", left)
	}
}
