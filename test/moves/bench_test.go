// Package moves moves real servers to real filesystems, and back.
package moves

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/check"
	"plumb/internal/engine/mysql"
	mysqlhome "plumb/internal/engine/mysql/home"
	mysqlpoint "plumb/internal/engine/mysql/point"
	"plumb/internal/engine/postgres"
	postgreshome "plumb/internal/engine/postgres/home"
	postgrespoint "plumb/internal/engine/postgres/point"
	"plumb/internal/host"
	"plumb/internal/host/hosttest"
	"plumb/internal/observe"
	"plumb/internal/product"
	"plumb/internal/protect"
	"plumb/internal/provision"
	"plumb/internal/provision/move"
	"plumb/internal/stack"
	"plumb/internal/storage/block"
	"plumb/internal/storage/filesystem"
	"plumb/internal/storage/zfs"
	"plumb/internal/system/kernel"
	"plumb/internal/system/process"
	"plumb/test/sandbox"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func sh(t testing.TB, script string, args ...string) string {
	t.Helper()
	out, err := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// bench is a real server in a plain directory, and where it goes.
type bench struct {
	t           testing.TB
	box         *sandbox.Box
	server      *sandbox.Server
	mover       move.Mover
	live        *host.LiveDoer
	cat         *catalog.Catalog
	engine      provision.Engine
	volumes     []provision.Volume
	stop, start []string
	pidFile     string
}

const (
	mariaDB = "mariadb"
	pg      = "postgres"
)

// newBench starts a server.
func newBench(t testing.TB, product string, settings string) *bench {
	t.Helper()
	box := sandbox.ForTest(t, "/var/tmp")
	b := &bench{t: t, box: box}
	var err error
	if product == mariaDB {
		b.server, err = box.MySQL(sandbox.MySQLOptions{Name: "db", Settings: "innodb_buffer_pool_size=128M\n" + settings})
	} else {
		b.server, err = box.Postgres(sandbox.PostgresOptions{Name: "db", Settings: settings})
	}
	sandbox.Need(t, err)
	b.commands(product)
	b.open(product)
	return b
}

// open makes what plans: for a test, and for the process that is killed.
func (b *bench) open(kind string) {
	b.t.Helper()
	cat := hosttest.Catalog(b.t)
	b.live = host.NewLiveDoer(host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{product.MySQL: mysql.Dialer{}, product.Postgres: postgres.Dialer{}}}))
	b.t.Cleanup(func() { b.live.Close() })
	b.cat, b.engine = cat, provision.Engine(mysqlhome.New(cat, nil))
	if kind == pg {
		b.engine = postgreshome.New(nil)
	}
	state := filepath.Join(filepath.Dir(b.server.Dir), "state")
	if _, err := os.Stat(state); err != nil {
		must(b.t, os.Mkdir(state, 0o700))
		must(b.t, os.WriteFile(filepath.Join(state, "fstab"), []byte("# none\n"), 0o600))
	}
	b.mover = move.Mover{Engines: []protect.Engine{mysqlpoint.New(cat, nil), postgrespoint.New(nil)}, Dir: state, Fstab: filepath.Join(state, "fstab"), Within: 30 * time.Second, Now: time.Now}
}

// commands are how a person would stop and start the server.
func (b *bench) commands(kind string) {
	b.t.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", b.server.PID))
	must(b.t, err)
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", b.server.PID))
	must(b.t, err)
	words := strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00")
	words[0] = exe
	uid, gid := b.box.User()
	signal := "TERM"
	if b.pidFile = filepath.Join(filepath.Dir(b.server.Socket), "db-run", "mysqld.pid"); kind == mariaDB {
		b.pidFile = filepath.Join(filepath.Dir(b.server.Socket), "mysqld.pid")
	} else {
		b.pidFile, signal = filepath.Join(b.server.Dir, "postmaster.pid"), "INT"
	}
	stopping := fmt.Sprintf(`[ -e %[1]s ] || exit 0
p=$(head -n 1 %[1]s)
kill -%[2]s $p 2>/dev/null || exit 0
while s=$(grep -s '^State:' /proc/$p/status); do case $s in *[ZX]*) exit 0 ;; esac; sleep 0.05; done`, b.pidFile, signal)
	starting := fmt.Sprintf("setsid setpriv --reuid=%d --regid=%d --clear-groups -- '%s' >/dev/null 2>&1 </dev/null &", uid, gid, strings.Join(words, "' '"))
	b.stop, b.start = []string{"sh", "-c", stopping}, []string{"sh", "-c", starting}
	b.t.Cleanup(func() {
		must(b.t, exec.Command("sh", "-c", stopping).Run())
		_ = exec.Command("sh", "-c", `for m in $(grep -o " $1[^ ]*" /proc/self/mountinfo | sort -r -u); do umount "$m"; done`, "sh", b.server.Dir).Run()
	})
}

// to adds a volume on a filesystem of its own.
func (b *bench) to(kind string, megabytes int) {
	b.t.Helper()
	switch kind {
	case "zfs-fuse":
		pool, err := b.box.ZFSFuse(megabytes)
		sandbox.Need(b.t, err)
		data, err := pool.Dataset("data")
		must(b.t, err)
		b.volumes = []provision.Volume{{Role: "data", Dataset: pool.Name + "/data", At: b.server.Dir, Aside: data}}
		log, err := pool.Dataset("log")
		must(b.t, err)
		if b.server.Engine == "postgres" {
			b.volumes = append(b.volumes, provision.Volume{Role: "wal", Dataset: pool.Name + "/log", At: b.server.Dir + "/pg_wal", Aside: log})
		} else {
			b.volumes = append(b.volumes, provision.Volume{Role: "redo", Dataset: pool.Name + "/log", At: b.server.Dir + "-log", Aside: log})
		}
	default:
		dir, err := b.box.Filesystem("new", kind, megabytes, nil, "")
		sandbox.Need(b.t, err)
		b.volumes = []provision.Volume{{Role: "data", At: b.server.Dir, Aside: dir}}
	}
}

func (b *bench) look() (*stack.Stack, stack.Ref) {
	b.t.Helper()
	phases := [][]observe.Probe{
		{kernel.New(b.cat), process.Probe{}, block.NewProbe(b.cat), filesystem.Probe{}, zfs.NewProbe(b.cat)},
		{mysql.NewProbe(b.cat, nil), postgres.NewProbe(b.cat, nil)},
	}
	s, err := check.Observe(b.t.Context(), host.NewCached(b.live.Live), b.cat, phases, time.Minute)
	must(b.t, err)
	text, err := os.ReadFile(b.pidFile)
	must(b.t, err)
	first, _, _ := strings.Cut(string(text), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(first))
	must(b.t, err)
	for _, r := range s.Roles {
		if r.Name == "data" && r.PID == pid {
			return s, r.DB
		}
	}
	b.t.Fatalf("the server with process %d is not in the stack", pid)
	return nil, stack.Ref{}
}

// plan is what provision asks for.
func (b *bench) plan() (provision.Making, error) {
	b.t.Helper()
	s, ref := b.look()
	home, err := b.engine.Home(b.t.Context(), b.live, s, ref)
	must(b.t, err)
	m := provision.Move{Home: home, Volumes: b.volumes, Stop: b.stop, Start: b.start}
	for _, part := range home.Parts {
		for _, v := range b.volumes {
			if v.Role != part.Roles[0] {
				continue
			}
			m.Parts = append(m.Parts, part)
			acts, err := b.engine.Place(b.t.Context(), b.live, s, ref, part)
			must(b.t, err)
			m.Place = append(m.Place, acts...)
		}
	}
	return b.mover.Move(b.t.Context(), b.live, s, m)
}

func (b *bench) run() provision.Run {
	return provision.Run{Executor: &change.Executor{Doer: b.live, Dir: b.mover.Dir, Plumb: "test", Now: time.Now}, Of: "test", Doing: func(_ string, a change.Act, done bool) {
		b.t.Logf("%s %s, done %v", time.Now().Format("05.000"), a.Place(), done)
	}}
}

// go moves it.
func (b *bench) moved() (change.Outcome, error) {
	b.t.Helper()
	m, err := b.plan()
	must(b.t, err)
	return b.run().Stage(b.t.Context(), provision.Stage{Name: "move", Proof: m.Proof, Steps: []change.Prepared{provision.Step(stack.Ref{Kind: b.engine.Kind(), Name: "test"}, "move", m.Acts)}})
}

func (b *bench) ask(query string) string {
	b.t.Helper()
	got := ""
	for range 300 {
		db, err := b.server.Open()
		must(b.t, err)
		err = db.QueryRow(query).Scan(&got)
		db.Close()
		if err == nil {
			return got
		}
		got = err.Error()
		time.Sleep(100 * time.Millisecond)
	}
	return got
}

// writers commit rows, and go on when the server comes back. What was acknowledged is theirs to miss.
type writers struct {
	b    *bench
	stop func()
	mu   sync.Mutex
	ok   map[int]bool
	down time.Duration // longest time without a commit
}

func (b *bench) write(sessions int) *writers {
	b.t.Helper()
	must(b.t, b.server.Exec("CREATE TABLE IF NOT EXISTS "+b.table()+" (id INT PRIMARY KEY, pad VARCHAR(100))"))
	w := &writers{b: b, ok: map[int]bool{}}
	db, err := b.server.Open()
	must(b.t, err)
	insert := "INSERT INTO " + b.table() + " VALUES (?, REPEAT('x', 90))"
	if b.server.Engine == "postgres" {
		insert = strings.ReplaceAll(insert, "?", "$1")
	}
	var next atomic.Int64
	var done atomic.Bool
	var all sync.WaitGroup
	last := time.Now()
	for range sessions {
		all.Go(func() { w.session(db, insert, &next, &done, &last) })
	}
	w.stop = sync.OnceFunc(func() { done.Store(true); all.Wait(); db.Close() })
	b.t.Cleanup(w.stop)
	return w
}

func (b *bench) table() string {
	if b.server.Engine == "postgres" {
		return "ledger"
	}
	return "mysql.ledger"
}

func (w *writers) session(db *sql.DB, insert string, next *atomic.Int64, done *atomic.Bool, last *time.Time) {
	for !done.Load() {
		id := int(next.Add(1))
		if _, err := db.Exec(insert, id); err != nil {
			time.Sleep(50 * time.Millisecond)
			continue
		}
		w.mu.Lock()
		now := time.Now()
		w.down, *last = max(w.down, now.Sub(*last)), now
		w.ok[id] = true
		w.mu.Unlock()
		time.Sleep(2 * time.Millisecond)
	}
}

// lost counts acknowledged rows that are not there.
func (w *writers) lost() (acknowledged, lost int) {
	w.b.t.Helper()
	_ = w.b.ask("SELECT 1")
	db, err := w.b.server.Open()
	must(w.b.t, err)
	defer db.Close()
	w.mu.Lock()
	ok := make([]int, 0, len(w.ok))
	for id := range w.ok {
		ok = append(ok, id)
	}
	w.mu.Unlock()
	rows, err := db.Query("SELECT id FROM " + w.b.table())
	must(w.b.t, err)
	defer rows.Close()
	there := map[int]bool{}
	for rows.Next() {
		id := 0
		must(w.b.t, rows.Scan(&id))
		there[id] = true
	}
	must(w.b.t, rows.Err())
	for _, id := range ok {
		if !there[id] {
			lost++
		}
	}
	return len(ok), lost
}
