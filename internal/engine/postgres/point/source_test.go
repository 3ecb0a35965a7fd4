package point_test

import (
	"context"
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

	"plumb/internal/engine/postgres"
	"plumb/internal/engine/postgres/client"
	"plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/load"
	"plumb/internal/protect"
	"plumb/internal/stack"
	"plumb/test/sandbox"
)

// source is a server of which points are taken: its WAL and a tablespace lie apart
// from its data, it archives, and it has a slot.
type source struct {
	t       *testing.T
	box     *sandbox.Box
	server  *sandbox.Server
	options sandbox.PostgresOptions
	doer    *host.LiveDoer
	e       point.Engine
	sv      protect.Server
	target  host.Target
	space   string
	archive string
	copies  int
	acked   [writers]atomic.Int64
}

const writers = 4

// versions calls a test for the installed PostgreSQL, and with PLUMB_REAL for others.
func versions(t *testing.T, f func(t *testing.T, bin string)) {
	sandbox.NeedLong(t, "starts real servers: run without -short")
	if os.Getuid() != 0 {
		t.Skip("copies another user's files: run as root")
	}
	for _, v := range []string{"", "10", "14", "17", "18"} {
		t.Run("PostgreSQL "+v, func(t *testing.T) {
			bin := ""
			if v != "" {
				sandbox.NeedTime(t, "other versions than the installed one: PLUMB_REAL=1")
				var err error
				bin, err = sandbox.PostgresTree(v)
				sandbox.Need(t, err)
			}
			f(t, bin)
		})
	}
}

func newSource(t *testing.T, bin, settings string) *source {
	t.Helper()
	box := sandbox.ForTest(t, "")
	s := &source{t: t, box: box}
	s.space, s.archive = s.mkdir("space with blank"), s.mkdir("archive")
	s.options = sandbox.PostgresOptions{Name: "source", Bindir: bin, WALdir: filepath.Join(s.mkdir("logs"), "wal"), Initdb: []string{"--data-checksums"},
		Settings: "archive_mode = on\narchive_command = 'test ! -e \"" + s.archive + "/%f\" && cp \"%p\" \"" + s.archive + "/%f\"'\nwal_level = replica\n" +
			"max_replication_slots = 5\nlog_statement = all\nlog_line_prefix = '%a %p|'\nmax_prepared_transactions = 7\nmax_connections = 60\n" + settings}
	var err error
	s.server, err = box.Postgres(s.options)
	sandbox.Need(t, err)
	s.exec("CREATE TABLESPACE apart LOCATION '"+s.space+"'", "SELECT pg_create_physical_replication_slot('standby', true)",
		"CREATE TABLE ledger (worker int, n int, pad text, PRIMARY KEY (worker, n))",
		"CREATE TABLE ledger2 (worker int, n int, pad text, PRIMARY KEY (worker, n) USING INDEX TABLESPACE apart) TABLESPACE apart",
		"INSERT INTO ledger SELECT -1, n, repeat('x', 900) FROM generate_series(1, 5000) n", "INSERT INTO ledger2 SELECT * FROM ledger",
		"ALTER SYSTEM SET work_mem = '5MB'", "SELECT pg_reload_conf()", "CHECKPOINT", "SELECT pg_sleep(0.2)")
	s.describe()
	return s
}

func (s *source) mkdir(name string) string {
	s.t.Helper()
	dir, err := s.box.Mkdir(name)
	sandbox.Need(s.t, err)
	return dir
}

func (s *source) describe() {
	s.t.Helper()
	s.e = point.New(nil)
	s.doer = host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{"postgres": postgres.Dialer{}}}))
	s.t.Cleanup(func() { s.doer.Close() })
	uid, _ := s.box.User()
	var seen stack.Stack
	var obs stack.Observation
	p := obs.New("process", strconv.Itoa(s.server.PID))
	for name, v := range map[string]stack.Value{"engine": stack.Text("postgres"), "own_mounts": stack.Bool(false), "own_root": stack.Bool(false), "uid": stack.Int(int64(uid)),
		"listen": stack.List([]string{"unix:" + s.socket()})} {
		p.Set(name, v, "test")
	}
	seen.Add("process", obs)
	var err error
	if s.sv, s.target, err = s.e.Describe(s.t.Context(), s.doer, &seen, stack.Ref{Kind: "postgres", Name: "5432"}); err != nil {
		s.t.Fatal(err)
	}
}

func (s *source) socket() string { return s.server.Socket + "/.s.PGSQL.5432" }

func (s *source) dial() load.Admin {
	s.t.Helper()
	a, err := client.New(client.Config{Network: "unix", Address: s.socket(), User: "postgres"}).Admin(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

func (s *source) exec(statements ...string) {
	s.t.Helper()
	a := s.dial()
	defer a.Close()
	if err := a.Exec(s.t.Context(), statements...); err != nil {
		s.t.Fatal(err)
	}
}

func ask(t *testing.T, a load.Admin, query string) string {
	t.Helper()
	rows, err := a.Query(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, row := range rows.Values {
		for i := range row {
			all = append(all, host.Text(row, i))
		}
	}
	return strings.Join(all, " ")
}

// write commits until the end is called, which waits for the writers.
func (s *source) write() (end func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for w := range writers {
		a := s.dial()
		all.Go(func() {
			defer a.Close()
			for n := s.acked[w].Load() + 1; ctx.Err() == nil; n++ {
				err := a.Exec(context.Background(), fmt.Sprintf("BEGIN; INSERT INTO ledger VALUES (%d, %d, repeat('y', 400)); INSERT INTO ledger2 VALUES (%d, %d, repeat('z', 400)); "+
					"UPDATE ledger SET pad = 'seen' WHERE worker = -1 AND n = 1 + %d %% 5000; COMMIT", w, n, w, n, n*7919))
				if err != nil {
					if ctx.Err() == nil {
						s.t.Error(err)
					}
					return
				}
				s.acked[w].Store(n)
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	return sync.OnceFunc(func() { cancel(); all.Wait() })
}

func (s *source) told() (all [writers]int64) {
	for w := range writers {
		all[w] = s.acked[w].Load()
	}
	return all
}

// still stops all processes of the server until the end is called: what is copied
// meanwhile is of one moment, as an atomic snapshot is.
func (s *source) still() (end func()) {
	s.t.Helper()
	all := []int{s.server.PID}
	if err := syscall.Kill(all[0], syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
	s.stands(all[0]) // it starts no more of them
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", all[0], all[0]))
	if err != nil {
		s.t.Fatal(err)
	}
	for _, word := range strings.Fields(string(text)) {
		pid, _ := strconv.Atoi(word)
		_ = syscall.Kill(pid, syscall.SIGSTOP) // unless it has ended
		all = append(all, pid)
	}
	for _, pid := range all {
		s.stands(pid)
	}
	return func() {
		for _, pid := range slices.Backward(all) {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
}

// stands waits until a process is stopped, or has ended: a call that it is in, such as a write, goes to its end.
func (s *source) stands(pid int) {
	s.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, state, _ := strings.Cut(string(text), ") ")
		if err != nil || strings.HasPrefix(state, "T") || strings.HasPrefix(state, "Z") {
			return
		}
	}
	s.t.Fatalf("process %d does not stand still", pid)
}

// copyOf makes an empty copy.
func (s *source) copyOf(purpose protect.Purpose, at protect.Position) protect.Copy {
	s.t.Helper()
	s.copies++
	dir := s.mkdir(fmt.Sprintf("copy%d", s.copies))
	c := protect.Copy{Server: s.sv, Purpose: purpose, Root: filepath.Join(dir, "root"), Run: filepath.Join(dir, "run"), Closed: true, Memory: 32 << 20, Position: at, Number: s.copies}
	s.mkdir(c.Root)
	s.mkdir(c.Run)
	if err := os.Chmod(c.Run, 0o700); err != nil {
		s.t.Fatal(err)
	}
	return c
}

// copied copies directories of the server. What vanishes meanwhile is no error.
func (s *source) copied(c protect.Copy, still bool, dirs ...string) {
	s.t.Helper()
	for _, dir := range dirs {
		to := c.Root + filepath.Dir(dir)
		if err := os.MkdirAll(to, 0o755); err != nil {
			s.t.Fatal(err)
		}
		if out, err := exec.Command("cp", "-a", "--reflink=auto", "--", dir, to+"/").CombinedOutput(); err != nil && still {
			s.t.Fatalf("%v: %s", err, out)
		}
	}
}

// instant copies everything at one moment.
func (s *source) instant(c protect.Copy) {
	s.t.Helper()
	end := s.still()
	defer end()
	s.copied(c, true, s.dirs()...)
}

func (s *source) dirs() (all []string) {
	for _, d := range s.sv.Dirs {
		all = append(all, d.Path)
	}
	return all
}

// start neutralises a copy and starts it.
func (s *source) start(c protect.Copy) (load.Admin, func()) {
	s.t.Helper()
	if err := s.e.Neutralise(s.t.Context(), s.doer, c); err != nil {
		s.t.Fatal(err)
	}
	return s.serve(c)
}

func (s *source) serve(c protect.Copy) (load.Admin, func()) {
	s.t.Helper()
	p, stop, log, err := s.e.Serve(c)
	if err != nil {
		s.t.Fatal(err)
	}
	r, err := s.doer.Start(s.t.Context(), p)
	if err != nil {
		s.t.Fatal(err)
	}
	end := sync.OnceFunc(func() {
		_ = r.Signal(stop)
		select {
		case <-r.Done():
		case <-time.After(time.Minute):
			_ = r.Signal(host.Kill)
		}
	})
	s.t.Cleanup(end)
	var a load.Admin
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if a, err = s.e.Open(s.t.Context(), c); err == nil {
			break
		}
		select {
		case <-r.Done():
			deadline = time.Time{}
		default:
		}
		if time.Now().After(deadline) {
			text, _ := os.ReadFile(log)
			end()
			s.t.Fatalf("%v\n%s", err, text)
		}
	}
	s.t.Cleanup(func() { a.Close() })
	return a, end
}

// whole wants that a copy has all commits that were told before it was taken, and all
// the engine's checks in order.
func (s *source) whole(c protect.Copy, a load.Admin, told [writers]int64) {
	s.t.Helper()
	for _, table := range []string{"ledger", "ledger2"} {
		for w, n := range told {
			got := ask(s.t, a, fmt.Sprintf("SELECT count(*) >= %d, count(*) = coalesce(max(n), 0) FROM public.%s WHERE worker = %d", n, table, w))
			if got != "t t" {
				s.t.Errorf("%s of writer %d: %s, and %d commits were told", table, w, got, n)
			}
		}
	}
	for _, full := range []bool{false, true} {
		began := time.Now()
		checks, err := s.e.Check(s.t.Context(), a, c, full)
		if err != nil {
			s.t.Fatal(err)
		}
		if c.Position.Known() && c.Purpose == protect.ForDrill {
			is, err := s.e.Recovered(s.t.Context(), a, c)
			if err != nil {
				s.t.Fatal(err)
			}
			at, err := s.e.Reached(s.t.Context(), a, c, is)
			if err != nil {
				s.t.Fatal(err)
			}
			checks = append(checks, at)
		}
		for _, check := range checks {
			if check.Wrong != "" {
				s.t.Errorf("%s: %s", check.What, check.Wrong)
			}
		}
		s.t.Logf("full=%t, %d checks in %v: %v", full, len(checks), time.Since(began), checks)
	}
}

// untouched wants that nothing of the source's that a copy could reach has changed.
func (s *source) untouched(c protect.Copy) {
	s.t.Helper()
	a := s.dial()
	defer a.Close()
	if got := ask(s.t, a, "SELECT slot_name FROM pg_replication_slots"); got != "standby" {
		s.t.Errorf("the source has the slots %q", got)
	}
	if got := ask(s.t, a, "SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname = 'apart'"); got != s.space {
		s.t.Errorf("its tablespace lies in %s", got)
	}
	if c.Root == "" {
		return
	}
	b, err := s.e.Open(s.t.Context(), c)
	if err != nil {
		s.t.Fatal(err)
	}
	defer b.Close()
	if got := ask(s.t, b, "SELECT count(*) FROM pg_replication_slots"); got != "0" && c.Purpose != protect.ForReplica {
		s.t.Errorf("the copy has %s slots", got)
	}
	if got := ask(s.t, b, "SELECT pg_tablespace_location(oid) FROM pg_tablespace WHERE spcname = 'apart'"); got != c.Root+s.space {
		s.t.Errorf("the copy's tablespace lies in %s", got)
	}
	const want = "off 7 60 5MB"
	if got := ask(s.t, b, "SELECT current_setting('archive_mode'), current_setting('max_prepared_transactions'), current_setting('max_connections'), current_setting('work_mem')"); got != want {
		s.t.Errorf("the copy's settings are %s", got)
	}
	// the copy writes, and nothing of it comes to the source
	if c.Purpose != protect.ForReplica {
		before := tree(s.t, s.archive)
		if err := b.Exec(s.t.Context(), "CREATE TABLE public.own TABLESPACE apart AS SELECT generate_series(1, 100000) n", "CHECKPOINT", "SELECT pg_switch_wal()"); err != nil {
			s.t.Fatal(err)
		}
		time.Sleep(300 * time.Millisecond)
		if after := tree(s.t, s.archive); !slices.Equal(before, after) {
			s.t.Errorf("the archive has changed: %v, %v", before, after)
		}
	}
}

func tree(t *testing.T, dir string) (all []string) {
	t.Helper()
	names, err := filepath.Glob(dir + "/*")
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// set is the source's, on one volume or one for each directory.
func (s *source) set(apart bool) protect.Set {
	set := protect.Set{Volumes: []protect.Volume{{Storage: "btrfs", Name: "one", Mountpoint: s.box.Dir}}}
	if apart {
		set = protect.Set{Apart: "they lie in three pools"}
		for _, dir := range s.dirs() {
			set.Volumes = append(set.Volumes, protect.Volume{Storage: "btrfs", Name: dir, Mountpoint: dir})
		}
		slices.Reverse(set.Volumes)
	}
	return set
}

func (s *source) mode(name string, set protect.Set) protect.Mode {
	s.t.Helper()
	all, err := s.e.Modes(s.t.Context(), s.doer, s.target, nil, s.sv, set)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, m := range all {
		if m.Name == name {
			return m
		}
	}
	s.t.Fatalf("no mode %s: %v", name, all)
	return protect.Mode{}
}

// typed lists the statements that Plumb had executed in the session of this test. Another test that looks at the whole machine
// finds this server, too, and asks it as Plumb.
func (s *source) typed() (all []string) {
	s.t.Helper()
	const asks = "SELECT pg_backend_pid()"
	row, err := host.One(s.doer.Query(s.t.Context(), s.target, asks))
	sandbox.Need(s.t, err)
	own := "plumb " + *host.Cell(row, 0) + "|LOG:  statement: "
	logs, err := filepath.Glob(s.box.Dir + "/postgres-*.out")
	if err != nil || len(logs) == 0 {
		s.t.Fatal(err, logs)
	}
	text, err := os.ReadFile(logs[0])
	if err != nil {
		s.t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if said, ok := strings.CutPrefix(line, own); ok && strings.TrimSpace(said) != asks {
			all = append(all, strings.TrimSpace(said))
		}
	}
	return all
}
