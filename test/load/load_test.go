// Package load_test runs plumb load as a user does: the built program against
// private servers and files.
package load_test

import (
	"fmt"
	"testing"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// What the tests have in common: the program, and servers.
var (
	built   program.Program
	servers = sandbox.Shared{Start: start}
)

func TestMain(m *testing.M) { program.Main(m, &built, servers.Close) }

// server gives the private server of an engine, and the options that name it.
func server(t *testing.T, engine string) []string {
	t.Helper()
	s := servers.Server(t, engine)
	if engine == "mysql" {
		return []string{"--mysql-socket=" + s.Socket, "--mysql-user=root", "--mysql-db=sbtest"}
	}
	return []string{"--pgsql-host=" + s.Socket, fmt.Sprintf("--pgsql-port=%d", s.Port), "--pgsql-user=" + s.User, "--pgsql-db=sbtest"}
}

func start(b *sandbox.Box, engine string) (s *sandbox.Server, err error) {
	if engine == "mysql" {
		s, err = b.MySQL(sandbox.MySQLOptions{Name: "my", Settings: "local_infile=1\nmax_connections=60"})
	} else {
		s, err = b.Postgres(sandbox.PostgresOptions{Name: "pg", Port: 14871})
	}
	if err != nil {
		return nil, err
	}
	return s, s.Exec("CREATE DATABASE sbtest")
}

func must(t *testing.T, err error) { t.Helper(); sandbox.Need(t, err) }

func plumb(t *testing.T, code int, args ...string) (out, errs string) {
	t.Helper()
	return built.Run(t, code, append([]string{"load"}, args...)...)
}

func reads(t *testing.T, text string, expressions ...string) {
	t.Helper()
	program.Reads(t, text, expressions...)
}

func document(t *testing.T, name, text string, into any) {
	t.Helper()
	built.Document(t, name, text, into)
}

// args joins lists of arguments.
func args(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
