// Package load_test runs plumb load as a user does: the built program against
// private servers and files.
package load_test

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// shared is what the tests have in common: the program, and servers that are
// started when the first test asks for them.
type shared struct {
	program program.Program
	box     *sandbox.Box
	mu      sync.Mutex
	up      map[string]*sandbox.Server
	why     map[string]error
}

var common = shared{up: map[string]*sandbox.Server{}, why: map[string]error{}}

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) (code int) {
	dir, err := os.MkdirTemp("", "plumb-load-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	if common.program, err = program.Build(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() {
		if common.box != nil {
			if err := common.box.Close(); err != nil {
				fmt.Fprintln(os.Stderr, err)
				code = 1
			}
		}
	}()
	return m.Run()
}

// server gives the private server of an engine, and the options that name it.
func server(t *testing.T, engine string) []string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts real servers: run without -short")
	}
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.up[engine] == nil && common.why[engine] == nil {
		common.up[engine], common.why[engine] = common.start(engine)
	}
	must(t, common.why[engine])
	s := common.up[engine]
	if engine == "mysql" {
		return []string{"--mysql-socket=" + s.Socket, "--mysql-user=root", "--mysql-db=sbtest"}
	}
	return []string{"--pgsql-host=" + s.Socket, fmt.Sprintf("--pgsql-port=%d", s.Port), "--pgsql-user=" + s.User, "--pgsql-db=sbtest"}
}

func (c *shared) start(engine string) (s *sandbox.Server, err error) {
	if c.box == nil {
		if c.box, err = sandbox.New(""); err != nil {
			return nil, err
		}
	}
	if engine == "mysql" {
		s, err = c.box.MySQL(sandbox.MySQLOptions{Name: "my", Settings: "local_infile=1\nmax_connections=60"})
	} else {
		s, err = c.box.Postgres(sandbox.PostgresOptions{Name: "pg", Port: 54871})
	}
	if err != nil {
		return nil, err
	}
	return s, s.Exec("CREATE DATABASE sbtest")
}

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

func plumb(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	return common.program.Run(t, code, append([]string{"load"}, args...)...)
}

func reads(t *testing.T, text string, expressions ...string) {
	t.Helper()
	program.Reads(t, text, expressions...)
}

func document(t *testing.T, name, text string, into any) {
	t.Helper()
	common.program.Document(t, name, text, into)
}

// args joins lists of arguments.
func args(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
