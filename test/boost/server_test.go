package boost_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/program"
	"plumb/test/sandbox"
)

// ask gives the cells of an answer.
func ask(t *testing.T, s *sandbox.Server, query string) string {
	t.Helper()
	db, err := s.Open()
	must(t, err)
	defer db.Close()
	rows, err := db.Query(query)
	must(t, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var name, value string
		must(t, rows.Scan(&name, &value))
		all = append(all, name+"="+value)
	}
	must(t, rows.Err())
	return strings.Join(all, " ")
}

func server(t *testing.T, engine string) *sandbox.Server {
	t.Helper()
	sandbox.NeedLong(t, "starts a server: run without -short")
	return servers.Server(t, engine)
}

func TestMariaDB(t *testing.T) {
	s := server(t, "mysql")
	maria := subject{of: "mysql:14973",
		state: func() string {
			return ask(t, s, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'innodb_io_capacity')")
		},
		other: func() { must(t, s.Exec("SET GLOBAL sync_binlog = 7")) },
		kept:  "innodb_flush_log_at_trx_commit=1 innodb_io_capacity=200 sync_binlog=7",
		reset: func() { must(t, s.Exec("SET GLOBAL sync_binlog = 1")) }}
	if os.Getenv("PLUMB_REAL") == "" { // what ends it does not depend on the server
		killed(t, maria, kills())
		return
	}
	everyWay(t, maria)
}

func TestPostgreSQL(t *testing.T) {
	s := server(t, "postgres")
	everyWay(t, subject{of: "postgres:14974",
		state: func() string {
			auto, err := os.ReadFile(filepath.Join(s.Dir, "postgresql.auto.conf"))
			must(t, err)
			return ask(t, s, "SELECT name, setting FROM pg_settings WHERE name IN ('synchronous_commit', 'max_wal_size', 'checkpoint_timeout', 'maintenance_work_mem', 'fsync', 'full_page_writes') ORDER BY name") + string(auto)
		},
		other: func() { must(t, s.Exec("ALTER SYSTEM SET synchronous_commit = 'local'", "SELECT pg_reload_conf()")) },
		kept:  "synchronous_commit=local",
		reset: func() { must(t, s.Exec("ALTER SYSTEM RESET synchronous_commit", "SELECT pg_reload_conf()")) }})
}

// What will be set, and what a crash loses meanwhile, is said before anything is.
func TestPlan(t *testing.T) {
	server(t, "mysql")
	out, _ := built.Run(t, 0, "boost", "mysql:14973", "20m", "--dry-run")
	program.Reads(t, out, "innodb_flush_log_at_trx_commit: 2, now 1", "sync_binlog: 0, now 1", "What a crash during this time loses", `A\s+restart of the server or of the machine restores them too`)
	server(t, "postgres")
	out, _ = built.Run(t, 0, "boost", "postgres:14974", "20m", "--dry-run")
	program.Reads(t, out, "synchronous_commit: off, now on", `three\s+times wal_writer_delay`, `no\s+systemd\s+here|a\s+unit\s+restores\s+them`)
}
