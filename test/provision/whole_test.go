package provision

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	view "plumb/internal/view/provision"
	"plumb/test/program"
	"plumb/test/reaper"
	"plumb/test/sandbox"
)

// built is the directory of the binary; "" while it was not asked for.
var built string

// binary builds plumb once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "plumb-test-binary-")
	if err != nil {
		return "", err
	}
	built = dir
	if err := reaper.Mind(dir); err != nil {
		return "", err
	}
	p, err := program.Build(dir)
	return p.Path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		os.RemoveAll(built)
	}
	os.Exit(code)
}

// ofTheMachine are the rules about what these tests share with others, and must not set.
const ofTheMachine = "kernel/*,cross/kernel-*,cross/storage-readahead-*,block/*"

// bench is a server that runs from a plain directory, and a spec for it.
type bench struct {
	*testing.T
	box     *sandbox.Box
	server  *sandbox.Server
	product string
	pool    string
	spec    string
	args    []string // that every command needs
	state   string
}

func newBench(t *testing.T, product string) *bench {
	t.Helper()
	box := sandbox.ForTest(t, "")
	b := &bench{T: t, box: box, product: product, pool: strings.ReplaceAll(filepath.Base(box.Dir), "-", "") + "p", state: filepath.Join(sandbox.Place(t), "state")}
	box.OnClose(func() error { // what a test that failed has left
		return exec.Command("sh", "-c", `zpool list -H -o name "$1" >/dev/null 2>&1 && zpool destroy -f "$1"; chattr -i "$2"/* "$3"/* 2>/dev/null; true`, "sh", b.pool, box.Dir, b.state).Run()
	})
	_, err := box.ZFSFuse(64) // for its daemon
	sandbox.Need(t, err)
	port, pid := sandbox.FreePort(t), ""
	if product == "postgres" {
		b.server, err = box.Postgres(sandbox.PostgresOptions{Name: "db", Port: port})
		sandbox.Need(t, err)
		pid = filepath.Join(b.server.Dir, "postmaster.pid")
	} else {
		b.server, err = box.MySQL(sandbox.MySQLOptions{Name: "db", Port: port})
		sandbox.Need(t, err)
		pid = filepath.Join(filepath.Dir(b.server.Socket), "mysqld.pid")
		sandbox.Need(t, b.server.Exec("CREATE DATABASE shop"))
	}
	sandbox.Need(t, b.server.Exec("CREATE TABLE "+b.table()+" (id INT PRIMARY KEY, text VARCHAR(200))"))
	b.commands(pid)
	b.spec = filepath.Join(b.state+"-spec", "shop.yaml")
	sandbox.Need(t, os.MkdirAll(filepath.Dir(b.spec), 0o755))
	sandbox.Need(t, os.WriteFile(b.spec, []byte(fmt.Sprintf(`pool:
  name: %s
  layout: mirror
  disks:
    - {path: %[2]s/disk0, size: 400M}
    - {path: %[2]s/disk1, size: 400M}
server:
  product: %[3]s
  name: %[3]s:%[4]d
  databases:
    - {name: spare, owner: games}
`, b.pool, filepath.Dir(b.state), product, port)), 0o600))
	return b
}

func (b *bench) table() string {
	if b.product == "postgres" {
		return "orders"
	}
	return "shop.orders"
}

// used is a statement that goes well where a database is there.
func (b *bench) used(database string) string {
	if b.product == "postgres" {
		return "ALTER DATABASE " + database + " SET work_mem = '5MB'"
	}
	return "ALTER DATABASE " + database + " COLLATE = utf8mb4_bin"
}

// commands are what stops and starts the server.
func (b *bench) commands(pidFile string) {
	b.Helper()
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", b.server.PID))
	sandbox.Need(b, err)
	uid, gid := b.box.User()
	signal := "TERM"
	if b.product == "postgres" {
		signal = "INT"
	}
	stop := fmt.Sprintf(`[ -e %[1]s ] || exit 0
p=$(head -n 1 %[1]s)
kill -%[2]s $p 2>/dev/null || exit 0
while s=$(grep -s '^State:' /proc/$p/status); do case $s in *[ZX]*) exit 0 ;; esac; sleep 0.05; done`, pidFile, signal)
	start := fmt.Sprintf("setsid setpriv --reuid=%d --regid=%d --clear-groups -- '%s' >/dev/null 2>&1 </dev/null &", uid, gid, strings.Join(strings.Split(strings.TrimSuffix(string(line), "\x00"), "\x00"), "' '"))
	b.Cleanup(func() { sandbox.Need(b, exec.Command("sh", "-c", stop).Run()) })
	b.args = []string{"--state", b.state, "--stop", stop, "--start", start, "--skip", ofTheMachine, "--timeout", "2m"}
}

// command is plumb provision with more arguments.
func (b *bench) command(more ...string) *exec.Cmd {
	b.Helper()
	plumb, err := binary()
	sandbox.Need(b, err)
	return exec.Command(plumb, slices.Concat([]string{"provision", b.spec}, b.args, more)...)
}

// typed runs it, and wants an exit code.
func (b *bench) typed(code int, more ...string) string {
	b.Helper()
	c := b.command(more...)
	out, err := c.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		b.Fatal(err)
	}
	if c.ProcessState.ExitCode() != code {
		b.Fatalf("provision %v ended with %d, want %d:\n%s", more, c.ProcessState.ExitCode(), code, out)
	}
	return string(out)
}

// rows counts what the server holds, once it answers.
func (b *bench) rows() (n int) {
	b.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		db, open := b.server.Open()
		sandbox.Need(b, open)
		err = db.QueryRow("SELECT COUNT(*) FROM " + b.table()).Scan(&n)
		db.Close()
		if err == nil {
			return n
		}
	}
	b.Fatalf("the server does not answer: %v", err)
	return 0
}

// write adds rows.
func (b *bench) write(from, n int) {
	b.Helper()
	db, err := b.server.Open()
	sandbox.Need(b, err)
	defer db.Close()
	for i := from; i < from+n; i++ {
		_, err := db.Exec(fmt.Sprintf("INSERT INTO %s VALUES (%d, 'an order that is like all the others, and long enough to be worth a page')", b.table(), i))
		sandbox.Need(b, err)
	}
}

// before is what a provision must leave as it was, once it is taken away: names, owners and modes around the
// server's directory, its option file, the pools and what is mounted.
func (b *bench) before() string {
	b.Helper()
	out, err := exec.Command("sh", "-c", `find "$1" -maxdepth 1 -printf '%p %u %g %m %y\n' | sort; find "$1" -name my.cnf -exec cat {} +; cat "$2"/db/postgresql*.conf 2>/dev/null
zpool list -H -o name | grep -F "$4"; grep -F "$1" /proc/mounts; lsattr -d "$1"/*; ls "$(dirname "$3")" | grep -v '^state$'; ls "$3" 2>/dev/null | grep -v '^change-\|^lock$\|^moved-' || true`, "sh", b.box.Dir, b.box.Dir, b.state, b.pool).CombinedOutput()
	sandbox.Need(b, err)
	return string(out)
}

// TestOneSpecOneCommand moves servers onto a pool that is made of files: they answer, a second run does
// nothing, check has nothing to say above a note, and all of it can be taken away.
func TestOneSpecOneCommand(t *testing.T) {
	sandbox.NeedTime(t, "lays out two servers: PLUMB_REAL=1 go test ./test/provision -run OneSpec")
	for _, product := range []string{"mariadb", "postgres"} {
		t.Run(product, func(t *testing.T) {
			b := newBench(t, product)
			b.write(0, 200)
			was := b.before()
			plan := b.typed(0, "--dry-run")
			if !strings.Contains(plan, "nothing above a note") || !strings.Contains(plan, "recordsize=") {
				t.Errorf("the plan is:\n%s", plan)
			}
			if now := b.before(); now != was {
				t.Errorf("a dry run changed\n%s\nto\n%s", was, now)
			}
			t.Log(b.typed(0, "--yes"))
			if n := b.rows(); n != 200 {
				t.Errorf("200 rows were written, and %d are there", n)
			}
			again := b.document(0, "--yes")
			if again.Acts != 0 {
				t.Errorf("done again it makes %d acts: %+v", again.Acts, again.Stages)
			}
			b.write(200, 2000)
			loaded := b.document(0, "--yes") // what the rules say of the load is followed too
			t.Logf("after a load: %d acts %+v, notes %+v", loaded.Acts, loaded.Stages, loaded.Notes)
			if len(loaded.Left) > 0 {
				t.Errorf("above a note is left: %+v", loaded.Left)
			}
			if err := b.server.Exec(b.used("spare")); err != nil {
				t.Errorf("the database of the spec: %v", err)
			}
			b.typed(0, "--undo", "--yes")
			if err := b.server.Exec(b.used("spare")); err == nil {
				t.Error("taken away, the database is there")
			}
			if n := b.rows(); n != 2200 {
				t.Errorf("2200 rows were written, 2000 of them on the pool, and %d are there", n)
			}
			if now := b.before(); now != was {
				t.Errorf("taken away, there is\n%s\nin place of\n%s", now, was)
			}
		})
	}
}

// document runs it with --json.
func (b *bench) document(code int, more ...string) (doc view.ProvisionJSON) {
	b.Helper()
	began, c, errs := time.Now(), b.command(append(more, "--json")...), strings.Builder{}
	c.Stderr = &errs // which says what is waited for
	out, _ := c.Output()
	if c.ProcessState.ExitCode() != code {
		b.Fatalf("provision %v ended with %d, want %d:\n%s%s", more, c.ProcessState.ExitCode(), code, out, errs.String())
	}
	b.Logf("%v took %v", more, time.Since(began).Round(time.Millisecond))
	if err := json.Unmarshal(out, &doc); err != nil {
		b.Fatalf("%v in %s", err, out)
	}
	return doc
}

// TestKilledAndGoneOnWith kills provisions at moments nobody chose: the next run ends what one began, and what
// was written is there.
func TestKilledAndGoneOnWith(t *testing.T) {
	sandbox.NeedTime(t, "kills provisions: PLUMB_REAL=1 go test ./test/provision -run Killed")
	b := newBench(t, "mariadb")
	b.write(0, 200)
	was := b.before()
	for i := range 5 {
		for kill := 0; ; kill++ {
			c, said := b.command("--yes"), filepath.Join(t.TempDir(), "said") // a pipe would be held open by what goes on
			file, err := os.Create(said)
			sandbox.Need(t, err)
			c.Stderr = file
			sandbox.Need(t, errors.Join(c.Start(), file.Close()))
			ended := make(chan error, 1)
			go func() { ended <- c.Wait() }()
			patience := time.Duration(rand.Int64N(int64(20 * time.Second)))
			if kill >= 3 {
				patience = 5 * time.Minute
			}
			select {
			case err := <-ended:
				text, _ := os.ReadFile(said)
				if program.Awaits(text) { // it is typed again
					continue
				}
				if err != nil {
					t.Fatalf("round %d: %v: %s", i, err, text)
				}
			case <-time.After(patience):
				t.Logf("round %d: killed after %v", i, patience.Round(time.Millisecond))
				_ = c.Process.Kill()
				<-ended
				continue
			}
			break
		}
		if n := b.rows(); n != 200 {
			t.Errorf("round %d: 200 rows were written, and %d are there", i, n)
		}
		b.typed(0, "--undo", "--yes")
		if n := b.rows(); n != 200 {
			t.Errorf("round %d, taken away: 200 rows were written, and %d are there", i, n)
		}
		if now := b.before(); now != was {
			t.Errorf("round %d, taken away, there is\n%s\nin place of\n%s", i, now, was)
		}
	}
}
