package points

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	mysqlclient "plumb/internal/engine/mysql/client"
	postgresclient "plumb/internal/engine/postgres/client"
	"plumb/internal/load"
	"plumb/test/sandbox"
)

// family is what these tests must know of a kind of server.
type family struct {
	name   string
	start  func(t *testing.T, b *sandbox.Box, data, log string) (*sandbox.Server, error)
	tables []string
	insert string // a row of two numbers
	socket func(run string, port int) *sandbox.Server
	driven func(s *sandbox.Server) load.Server // where plumb load works it, in the database "work" or "postgres"
}

// families are the installed servers. MariaDB has its binary log in the second directory, PostgreSQL its WAL.
var families = []family{
	mysqlFamily("mariadb", func() (sandbox.MySQLOptions, error) {
		return sandbox.MySQLOptions{Settings: "gtid_strict_mode = ON\ninnodb_log_file_size = 16M\n"}, nil
	}),
	postgresFamily("postgres", func() (string, error) { return "", nil }),
}

// fetched are servers that are fetched when a long test asks for them.
var fetched = []family{
	mysqlFamily("mysql", func() (sandbox.MySQLOptions, error) {
		base, loader, err := sandbox.MySQLTree()
		return sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Settings: "gtid_mode = ON\nenforce_gtid_consistency = ON\n"}, err
	}),
	postgresFamily("postgres18", func() (string, error) { return sandbox.PostgresTree("18") }),
}

func mysqlFamily(name string, get func() (sandbox.MySQLOptions, error)) family {
	return family{
		name: name,
		start: func(t *testing.T, b *sandbox.Box, data, log string) (*sandbox.Server, error) {
			o, err := get()
			if err != nil {
				return nil, err
			}
			o.Port, o.Datadir = sandbox.FreePort(t), data
			o.Settings += "log_bin = " + log + "/binlog\nserver_id = 7\nsync_binlog = 1\ninnodb_flush_log_at_trx_commit = 1\ninnodb_buffer_pool_size = 64M"
			return b.MySQL(o)
		},
		tables: []string{"CREATE DATABASE plumbtest", "CREATE TABLE plumbtest.t (id INT AUTO_INCREMENT PRIMARY KEY, who INT, n INT)", "CREATE DATABASE work"},
		insert: "INSERT INTO plumbtest.t (who, n) VALUES (?, ?)",
		socket: func(run string, _ int) *sandbox.Server {
			return &sandbox.Server{Engine: "mysql", Socket: filepath.Join(run, "mysqld.sock"), User: "root"}
		},
		driven: func(s *sandbox.Server) load.Server {
			return mysqlclient.New(mysqlclient.Config{Network: "unix", Address: s.Socket, User: s.User, Database: "work"})
		},
	}
}

func postgresFamily(name string, get func() (bin string, err error)) family {
	return family{
		name: name,
		start: func(t *testing.T, b *sandbox.Box, data, log string) (*sandbox.Server, error) {
			bin, err := get()
			if err != nil {
				return nil, err
			}
			return b.Postgres(sandbox.PostgresOptions{Bindir: bin, Port: sandbox.FreePort(t), Datadir: data, WALdir: log + "/wal", Settings: "shared_buffers = 64MB\nmax_wal_size = 256MB"})
		},
		tables: []string{"CREATE SCHEMA plumbtest", "CREATE TABLE plumbtest.t (id SERIAL PRIMARY KEY, who INT, n INT)"},
		insert: "INSERT INTO plumbtest.t (who, n) VALUES ($1, $2)",
		socket: func(run string, port int) *sandbox.Server {
			return &sandbox.Server{Engine: "postgres", Socket: run, Port: port, User: "postgres"}
		},
		driven: func(s *sandbox.Server) load.Server {
			return postgresclient.New(postgresclient.Config{Network: "unix", Address: fmt.Sprintf("%s/.s.PGSQL.%d", s.Socket, s.Port), User: s.User, Database: "postgres"})
		},
	}
}

// ground is a storage under a server: two directories of which a snapshot of one moment can be taken.
type ground struct {
	name string
	make func(t *testing.T, b *sandbox.Box, megabytes int) (pool *sandbox.Pool, data, log string)
}

var grounds = []ground{{"zfs-fuse", datasets}, {"btrfs", directories}}

// datasets makes two datasets of a pool.
func datasets(t *testing.T, b *sandbox.Box, megabytes int) (pool *sandbox.Pool, data, log string) {
	t.Helper()
	makePool, _ := b.AnyZFS()
	pool, err := makePool(megabytes)
	sandbox.Need(t, err)
	for _, name := range []string{"db", "db/data", "db/log"} {
		_, err := pool.Dataset(name, "recordsize=16K")
		must(t, err)
	}
	return pool, filepath.Join(pool.Dir, "db/data"), filepath.Join(pool.Dir, "db/log")
}

// directories makes two directories in the one subvolume of a btrfs, whose top is root's alone.
func directories(t *testing.T, b *sandbox.Box, megabytes int) (_ *sandbox.Pool, data, log string) {
	t.Helper()
	top, err := b.Filesystem("fs", "btrfs", megabytes, nil, "")
	sandbox.Need(t, err)
	must(t, os.Chown(top, 0, 0))
	must(t, os.Chmod(top, 0o755))
	data, err = b.Mkdir(filepath.Join(top, "data"))
	must(t, err)
	log, err = b.Mkdir(filepath.Join(top, "log"))
	must(t, err)
	return nil, data, log
}

// onPool starts a server whose data and log lie in two datasets of a pool.
func onPool(t *testing.T, of family) *bench { return on(t, grounds[0], of, 1024) }

// on starts a server on a storage of some size.
func on(t *testing.T, under ground, of family, megabytes int) *bench {
	t.Helper()
	sandbox.NeedLong(t, "starts servers on filesystems of their own: run without -short")
	b := sandbox.ForTest(t, "")
	pool, data, log := under.make(t, b, megabytes)
	s, err := of.start(t, b, data, log)
	sandbox.Need(t, err)
	must(t, s.Exec(of.tables...))
	bench := newBench(t, b, pool, s)
	bench.family, bench.under = of, under.name
	if _, fuse := b.AnyZFS(); pool != nil && !fuse {
		bench.under = "OpenZFS"
	}
	return bench
}

// everywhere runs a test on servers, each on every storage.
func everywhere(t *testing.T, servers []family, megabytes int, f func(*testing.T, *bench)) {
	for _, of := range servers {
		for _, under := range grounds {
			t.Run(of.name+"/"+under.name, func(t *testing.T) { f(t, on(t, under, of, megabytes)) })
		}
	}
}

// count reads a number from the environment: what is asked for there, or else full when every test
// was asked for, however long, and few otherwise.
func count(t *testing.T, variable string, full, few int) int {
	t.Helper()
	if !sandbox.Full() {
		full = few
	}
	n, err := strconv.Atoi(cmp.Or(os.Getenv(variable), strconv.Itoa(full)))
	must(t, err)
	return n
}

// needFetched skips a test of servers that must be fetched, unless time is given.
func needFetched(t *testing.T) {
	t.Helper()
	sandbox.NeedTime(t, "other servers than the installed one: PLUMB_REAL=1")
}
