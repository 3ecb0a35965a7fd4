package real

import (
	"fmt"
	"syscall"
	"testing"

	"plumb/test/sandbox"
)

func inTheServer() []pair {
	return []pair{
		{name: "mariadb_sync_binlog_0", rule: "mysql/sync-binlog-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, "", "log_bin\n"+choose(sick, "", "sync_binlog=1\n")) // 0 is MariaDB's default
			}},
		{name: "pool_of_nearly_all_memory", rule: "cross/mysql-pool-over-memory",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, "", fmt.Sprintf("innodb_buffer_pool_size=%dM\n", megabytes(t)/100*choose(sick, 95, 25)))
			}},
		{name: "small_buffer_pool_under_load", rule: "mysql/buffer-pool-default", start: smallPool},
		{name: "redo_too_small_for_the_writes", rule: "mysql/redo-too-small", start: smallRedo},
		{name: "mariadb_buffers_changes", rule: "mysql/change-buffering-mariadb", long: "changes an index larger than the pool", start: bufferedChanges},
		{name: "next_start_changes_mariadb", rule: "mysql/next-start-changes",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				s := mysqlOn(t, b, "", "max_connections=200\n")
				if sick {
					check(t, s.Exec("SET GLOBAL max_connections = 300"))
				}
				return s
			}},
		{name: "next_start_changes_postgres", rule: "postgres/next-start-changes",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				s := postgresOn(t, b, "", "")
				if sick {
					check(t, s.Exec("ALTER SYSTEM SET max_connections = 321", "SELECT pg_reload_conf()"))
				}
				return s
			}},
		{name: "postgres_fsync_off", rule: "postgres/fsync-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return postgresOn(t, b, "", "fsync = "+choose(sick, "off", "on"))
			}},
		{name: "work_mem_times_connections_over_memory", rule: "cross/postgres-memory-worst-case",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return postgresOn(t, b, "", "shared_buffers = 256MB\n"+choose(sick, "work_mem = 1GB\nmax_connections = 500", "work_mem = 4MB\nmax_connections = 20"))
			}},
	}
}

// bufferedChanges has an index that is larger than the buffer pool, whose pages MariaDB up to 10.11 changes later if it is told to,
// though its manual says that 10.9 and later ignore that.
func bufferedChanges(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	s := mysqlOn(t, b, "", "innodb_buffer_pool_size=8M\ninnodb_change_buffering="+choose(sick, "all", "none")+"\n")
	if s.Exec("SET GLOBAL innodb_change_buffering = @@innodb_change_buffering") != nil {
		sandbox.Need(t, sandbox.Missing{What: "this MariaDB has no change buffer", Hint: "install MariaDB 10.11"})
	}
	check(t, s.Exec("CREATE DATABASE x", "CREATE TABLE x.t (r INT, f CHAR(100), KEY (r, f))",
		"INSERT INTO x.t SELECT FLOOR(RAND(1) * 1e9), '' FROM x.seq_1_to_200000"))
	eventually(t, s, "SELECT COUNT(*) = "+choose(sick, "1", "0")+
		" FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'INNODB_IBUF_MERGED_INSERTS' AND VARIABLE_VALUE > 0")
	return s
}

// megabytes gives the memory of the machine.
func megabytes(t *testing.T) int {
	t.Helper()
	var info syscall.Sysinfo_t
	check(t, syscall.Sysinfo(&info))
	return int(uint64(info.Totalram) * uint64(info.Unit) >> 20)
}

// smallPool reads a table of about 350 MB at random, four rows a page, with the default pool of 128 MB or one that holds it.
func smallPool(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	s := mysqlOn(t, b, "", "innodb_flush_log_at_trx_commit=0\ninnodb_log_file_size=256M\n"+choose(sick, "", "innodb_buffer_pool_size=1G\n"))
	check(t, s.Exec("CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY, pad VARCHAR(3900) CHARACTER SET latin1) ENGINE=InnoDB",
		"INSERT INTO x.t SELECT seq, REPEAT('a', 3900) FROM mysql.seq_1_to_90000"))
	for i := range 2 {
		check(t, s.Exec(fmt.Sprintf("SELECT SUM(LENGTH(t.pad)) FROM mysql.seq_1_to_20000 s JOIN x.t ON t.id = 1 + (s.seq * 7919 + %d) %% 90000", i*104729)))
	}
	return s
}

// smallRedo writes many times what the smallest redo log there is holds, and waits until the server has run for so long
// that this tells something. Its twin has the same log and writes little.
func smallRedo(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	s, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t), Settings: "innodb_flush_log_at_trx_commit=2\ninnodb_log_file_size=4M\n"})
	check(t, err)
	check(t, s.Exec("CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY, n INT, pad CHAR(200)) ENGINE=InnoDB",
		"INSERT INTO x.t SELECT seq, 0, 'a' FROM mysql.seq_1_to_1000"))
	if !sick {
		return s
	}
	check(t, s.Exec("INSERT INTO x.t SELECT seq, 0, 'a' FROM mysql.seq_1001_to_50000"))
	for range 10 { // some 20 MB of redo each
		check(t, s.Exec("UPDATE x.t SET n = n + 1, pad = REPEAT(CHAR(97 + n % 26), 200)"))
	}
	eventually(t, s, "SELECT VARIABLE_VALUE >= 11 FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'UPTIME'")
	return s
}
