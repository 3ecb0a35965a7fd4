package matrix

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"testing"
	"time"

	"plumb/internal/stack"
	"plumb/test/program"
	"plumb/test/sandbox"
)

// plumb is the built program; without PLUMB_REAL nothing is built.
var plumb program.Program

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	if os.Getenv("PLUMB_REAL") == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "plumb-matrix-")
	if err == nil {
		defer os.RemoveAll(dir)
		plumb, err = program.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

// row is one server of the matrix.
type row struct {
	name   string
	kind   string // mysql or postgres
	flavor string
	start  func(b *sandbox.Box, port int) (*sandbox.Server, error) // also again, on its old data
}

func rows() []row {
	var all []row
	for major := 10; major <= 18; major++ {
		all = append(all, row{fmt.Sprintf("postgres-%d", major), "postgres", "postgres", func(b *sandbox.Box, port int) (*sandbox.Server, error) {
			bin, err := sandbox.PostgresTree(strconv.Itoa(major))
			if err != nil {
				return nil, err
			}
			return b.Postgres(sandbox.PostgresOptions{Name: "pg", Bindir: bin, Port: port})
		}})
	}
	return append(all,
		row{"mariadb-installed", "mysql", "mariadb", func(b *sandbox.Box, port int) (*sandbox.Server, error) {
			return ofMySQLFamily(b, sandbox.MySQLOptions{Port: port, Settings: noTLS})
		}},
		row{"mariadb-11.4", "mysql", "mariadb", func(b *sandbox.Box, port int) (*sandbox.Server, error) {
			base, err := sandbox.MariaDBTree()
			if err != nil {
				return nil, err
			}
			return ofMySQLFamily(b, sandbox.MySQLOptions{Basedir: base, Port: port, Settings: noTLS})
		}},
		row{"mysql-sid", "mysql", "mysql", func(b *sandbox.Box, port int) (*sandbox.Server, error) {
			base, loader, err := sandbox.MySQLTree()
			if err != nil {
				return nil, err
			}
			return ofMySQLFamily(b, sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Port: port})
		}})
}

// noTLS spares MariaDB 11.4 a certificate, which it makes at each start, in
// many seconds where the machine is busy.
const noTLS = "skip_ssl\n"

// ofMySQLFamily starts a server that includes a directory of option files,
// which outlives a new start: the box writes the main file anew.
func ofMySQLFamily(b *sandbox.Box, o sandbox.MySQLOptions) (*sandbox.Server, error) {
	dir, err := b.Mkdir("conf.d") // of the server's user: of another's, nothing but the server would say that it is read
	if err := errors.Join(err, os.Chmod(dir, 0o755)); err != nil {
		return nil, err
	}
	o.Name, o.Settings = "my", o.Settings+"local_infile = 1\n!includedir "+dir+"\n"
	return b.MySQL(o)
}

// live is a server of the matrix that runs.
type live struct {
	row
	box    *sandbox.Box
	port   int
	server *sandbox.Server
}

func TestMatrix(t *testing.T) {
	if os.Getenv("PLUMB_REAL") == "" {
		t.Skip("fetches and starts a dozen servers: make test-real runs it")
	}
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			l := begun(t, r)
			t.Run("catalogue", l.catalogue)
			t.Run("lines", l.lines)
			t.Run("observe", l.observe)
			t.Run("replay", l.replay)
			t.Run("fix", l.fix)
			t.Run("load", l.load)
		})
	}
}

func begun(t *testing.T, r row) *live {
	box := sandbox.ForTest(t, "")
	var err error
	l := &live{row: r, box: box, port: sandbox.FreePort(t)}
	l.server, err = r.start(box, l.port)
	must(t, err)
	return l
}

// ref is what Plumb calls the server.
func (l *live) ref() stack.Ref { return stack.Ref{Kind: l.kind, Name: strconv.Itoa(l.port)} }

// restart stops the server in an orderly way and starts it on its data.
func (l *live) restart(t *testing.T) {
	t.Helper()
	signal := syscall.SIGTERM
	if l.kind == "postgres" {
		signal = syscall.SIGINT
	}
	must(t, syscall.Kill(l.server.PID, signal))
	for end := time.Now().Add(time.Minute); syscall.Kill(l.server.PID, 0) == nil; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("process %d does not end", l.server.PID)
		}
	}
	var err error
	l.server, err = l.start(l.box, l.port)
	must(t, err)
}
