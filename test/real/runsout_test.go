package real

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"plumb/internal/rule"
	"plumb/test/sandbox"
)

// runsOut are servers that come to an end of something, or stand.
func runsOut() []pair {
	return []pair{
		{name: "postgres_sequence_near_its_end", rule: "postgres/sequence-near-end", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			s := postgresOn(t, b, "", "")
			check(t, s.Exec("CREATE TABLE t (id serial PRIMARY KEY)", "SELECT setval('t_id_seq', "+choose(sick, "2000000000", "20")+")"))
			return s
		}},
		{name: "postgres_multixact_members", rule: "postgres/multixact-members-near-end", start: manyMembers},
		{name: "postgres_connections_used", rule: "postgres/connections-near-limit", start: usedConnections},
		{name: "postgres_shm_of_a_container", rule: "postgres/shm-small", start: smallShm},
		{name: "postgres_huge_pages_on_without_any", rule: "cross/kernel-huge-pages-on-too-few", start: hugePagesFromNextStart},
		{name: "postgres_active_slot_stands", rule: "cross/postgres-active-slot-fills-disk", long: "writes more than a gigabyte", start: stuckReceiver},
		{name: "postgres_one_of_two_synchronous_standbys", rule: "postgres/sync-standby-missing", start: oneSynchronousStandby},
		{name: "postgres_standby_alone", rule: "postgres/standby-without-receiver", long: "waits for more than a minute", start: standbyAlone},
		{name: "mariadb_autoincrement_near_its_end", rule: "mysql/autoincrement-near-end", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			s := mysqlOn(t, b, "", "")
			check(t, s.Exec("CREATE DATABASE x", "CREATE TABLE x.a (id INT AUTO_INCREMENT PRIMARY KEY)", "INSERT INTO x.a VALUES ("+choose(sick, "2000000000", "200")+")"))
			return s
		}},
		{name: "mariadb_replica_skips_errors", rule: "mysql/replica-skips-errors", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			s := mysqlOn(t, b, "", "server_id=2\n"+choose(sick, "slave_skip_errors=1062\n", ""))
			check(t, s.Exec("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'"))
			return s
		}},
		{name: "mariadb_replica_idempotent", rule: "mysql/replica-skips-errors", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			s := mysqlOn(t, b, "", "server_id=2\n"+choose(sick, "slave_exec_mode=IDEMPOTENT\n", ""))
			check(t, s.Exec("CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT=1, MASTER_USER='x'"))
			return s
		}},
		{name: "mariadb_semi_sync_after_commit", rule: "mysql/semi-sync-after-commit", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			return mysqlOn(t, b, "", "log_bin\nrpl_semi_sync_master_enabled=ON\n"+choose(sick, "", "rpl_semi_sync_master_wait_point=AFTER_SYNC\n"))
		}},
		{name: "mariadb_binlogs_wait_for_a_replica", rule: "cross/mysql-binlog-expiry-waits", long: "fetches MariaDB 11.4", start: agedBinlogs},
		{name: "mysql_binlog_purge_off", rule: "mysql/binlog-purge-off", long: "fetches MySQL", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			return nativeMySQL(t, b, "binlog_expire_logs_auto_purge="+choose(sick, "OFF", "ON")+"\n")
		}},
		{name: "mysql_autoincrement_near_its_end", rule: "mysql/autoincrement-near-end", long: "fetches MySQL", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			s := nativeMySQL(t, b, "")
			check(t, s.Exec("CREATE DATABASE x", "CREATE TABLE x.a (id SMALLINT UNSIGNED AUTO_INCREMENT PRIMARY KEY)", "INSERT INTO x.a VALUES ("+choose(sick, "60000", "200")+")"))
			return s
		}},
		{name: "mysql_replica_commits_out_of_order", rule: "mysql/replica-commit-order", long: "fetches MySQL", start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
			s := nativeMySQL(t, b, "server_id=2\nreplica_preserve_commit_order="+choose(sick, "OFF", "ON")+"\n")
			check(t, s.Exec("CHANGE REPLICATION SOURCE TO SOURCE_HOST='127.0.0.1', SOURCE_PORT=1, SOURCE_USER='x'"))
			return s
		}},
	}
}

// agedBinlogs has a binary log that is older than allowed. MariaDB 11.4 keeps it for a replica that never comes, unless it was
// told to wait for none.
func agedBinlogs(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	base, err := sandbox.MariaDBTree()
	check(t, err)
	s, err := b.MySQL(sandbox.MySQLOptions{Basedir: base, Datadir: volume(t, b, "ext4"), Port: freePort(t),
		Settings: "innodb_log_file_size=16M\nlog_bin=bin\nbinlog_format=ROW\nbinlog_expire_logs_seconds=3600\n" +
			choose(sick, "", "slave_connections_needed_for_purge=0\n")})
	check(t, err)
	check(t, s.Exec("CREATE DATABASE x", "CREATE TABLE x.t (a LONGBLOB)"))
	for range 8 { // more than a tenth of the filesystem
		check(t, s.Exec("INSERT INTO x.t VALUES (REPEAT('x', 8000000))"))
	}
	check(t, s.Exec("FLUSH BINARY LOGS"))
	first := filepath.Join(s.Dir, "bin.000001")
	days := time.Now().Add(-72 * time.Hour)
	check(t, os.Chtimes(first, days, days))
	kept := func() bool { _, err := os.Stat(first); return err == nil }
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		check(t, s.Exec("FLUSH BINARY LOGS"))
		if sick || !kept() || time.Now().After(end) { // a log is kept, too, until InnoDB says that it needs it no more
			break
		}
	}
	if kept() != sick {
		t.Fatalf("is a log of three days kept? %v; want %v", kept(), sick)
	}
	return s
}

// nativeMySQL starts the MySQL of Debian sid.
func nativeMySQL(t *testing.T, b *sandbox.Box, settings string) *sandbox.Server {
	t.Helper()
	base, loader, err := sandbox.MySQLTree()
	check(t, err)
	s, err := b.MySQL(sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Port: freePort(t), Settings: settings})
	check(t, err)
	return s
}

// manyMembers puts as many files beside those of multixact members as there
// are when the space runs out; the server never opens them.
func manyMembers(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	s := postgresOn(t, b, "", "")
	for i := range 57500 {
		if !sick && i == 1000 {
			break
		}
		check(t, os.WriteFile(filepath.Join(s.Dir, "pg_multixact/members", fmt.Sprintf("%04X", i+1)), nil, 0o600))
	}
	return s
}

// usedConnections holds as many connections as ordinary roles may.
func usedConnections(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	s := postgresOn(t, b, "", "max_connections = 12\nsuperuser_reserved_connections = 4\nmax_wal_senders = 2\n")
	db, err := s.Open()
	check(t, err)
	t.Cleanup(func() { db.Close() })
	for range 7 + 1 {
		if !sick {
			break
		}
		_, err := db.Conn(context.Background())
		check(t, err)
	}
	return s
}

// smallShm gives the server a /dev/shm of its own, of the size a container has.
func smallShm(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	wrap, err := b.Namespace()
	check(t, err)
	script := len(wrap) - 2
	wrap[script] = "mount -t tmpfs -o mode=1777,size=" + choose(sick, "64M", "1G") + " tmpfs /dev/shm && " + wrap[script]
	s, err := b.Postgres(sandbox.PostgresOptions{Port: freePort(t), Wrap: wrap})
	check(t, err)
	return s
}

// hugePagesFromNextStart asks for huge pages where none are reserved.
func hugePagesFromNextStart(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	for _, name := range []string{"/proc/sys/vm/nr_hugepages", "/proc/sys/vm/nr_overcommit_hugepages"} {
		if text, err := os.ReadFile(name); err != nil || strings.TrimSpace(string(text)) != "0" {
			t.Skipf("%s is %q: this machine has huge pages to give", name, text)
		}
	}
	s := postgresOn(t, b, "", "")
	if sick {
		check(t, s.Exec("ALTER SYSTEM SET huge_pages = 'on'", "SELECT pg_reload_conf()"))
	}
	return s
}

// asUser runs a program of the installed PostgreSQL as the server's user.
func asUser(t *testing.T, b *sandbox.Box, name string, args ...string) *exec.Cmd {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		t.Skipf("no %s: apt-get install postgresql-client", name)
	}
	cmd := exec.Command(found[len(found)-1], args...)
	cmd.Dir, cmd.Stderr = b.Dir, os.Stderr
	if uid, gid := b.User(); os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	}
	return cmd
}

// stuckReceiver writes more WAL than its filesystem has room left for, for a
// slot whose reader is connected and stopped.
func stuckReceiver(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	dir, err := b.Filesystem("vol", "ext4", 2400, nil, "")
	check(t, err)
	s := postgresOn(t, b, dir+"/data", "max_wal_size = 64MB\nmin_wal_size = 32MB\nwal_sender_timeout = 0\n")
	check(t, s.Exec("SELECT pg_create_physical_replication_slot('sub1', true)"))
	into, err := b.Mkdir("received")
	check(t, err)
	reader := asUser(t, b, "pg_receivewal", "-h", s.Socket, "-p", fmt.Sprint(s.Port), "-U", "postgres", "-S", "sub1", "-D", into)
	check(t, reader.Start())
	t.Cleanup(func() { reader.Process.Kill(); reader.Wait() })
	eventually(t, s, "SELECT count(*) = 1 FROM pg_replication_slots WHERE active")
	if sick {
		check(t, reader.Process.Signal(syscall.SIGSTOP))
	}
	for range 74 {
		check(t, s.Exec("SELECT pg_create_restore_point('x')", "SELECT pg_switch_wal()"))
		if !sick { // it would need room for what it receives
			break
		}
	}
	return s
}

// standbyAlone has a standby whose primary is gone.
func standbyAlone(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	primary := postgresOn(t, b, "", "")
	s := startCopy(t, b, copyOf(t, b, primary), "")
	eventually(t, s, "SELECT count(*) = 1 FROM pg_stat_wal_receiver WHERE status = 'streaming'")
	if sick {
		check(t, syscall.Kill(primary.PID, syscall.SIGINT))
		eventually(t, s, "SELECT count(*) = 0 FROM pg_stat_wal_receiver WHERE status = 'streaming'")
	}
	eventually(t, s, "SELECT now() - pg_postmaster_start_time() > '62 s' AND coalesce(now() - pg_last_xact_replay_timestamp() > '62 s', true)")
	return s
}

// copyOf is a copy of a server that will follow it.
func copyOf(t *testing.T, b *sandbox.Box, primary *sandbox.Server) string {
	t.Helper()
	check(t, primary.Exec("CREATE TABLE t (id integer)"))
	data := filepath.Join(b.Dir, "copy")
	check(t, asUser(t, b, "pg_basebackup", "-h", primary.Socket, "-p", fmt.Sprint(primary.Port), "-U", "postgres", "-D", data, "-R", "-c", "fast").Run())
	return data
}

// startCopy starts it with settings besides those of its primary.
func startCopy(t *testing.T, b *sandbox.Box, data, settings string) *sandbox.Server {
	t.Helper()
	port := freePort(t)
	conf, err := os.OpenFile(filepath.Join(data, "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	check(t, err)
	fmt.Fprintf(conf, "\nport = %d\nunix_socket_directories = '%s'\n%s", port, filepath.Join(b.Dir, "standby-run"), settings)
	check(t, conf.Close())
	s, err := b.Postgres(sandbox.PostgresOptions{Name: "standby", Datadir: data, Port: port})
	check(t, err)
	return s
}

// oneSynchronousStandby has one standby, where every commit waits for two.
func oneSynchronousStandby(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	primary := postgresOn(t, b, "", "")
	startCopy(t, b, copyOf(t, b, primary), "")
	check(t, primary.Exec("ALTER SYSTEM SET synchronous_standby_names = '"+choose(sick, "ANY 2 (*)", "ANY 1 (*)")+"'", "SELECT pg_reload_conf()"))
	eventually(t, primary, "SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'quorum'")
	return primary
}

// TestStandbyThatReplaysItsArchive: a standby that was made from an older backup
// has no receiver until it has replayed all that the archive has, and nothing is
// wrong with it.
func TestStandbyThatReplaysItsArchive(t *testing.T) {
	sandbox.NeedTime(t, "waits for more than a minute: make test-real runs it")
	b := box(t)
	archive := filepath.Join(b.Dir, "archive")
	check(t, os.Mkdir(archive, 0o777))
	check(t, os.Chmod(archive, 0o777))
	primary := postgresOn(t, b, "", "archive_mode = on\narchive_command = 'gzip < %p > "+archive+"/%f'\n")
	data := copyOf(t, b, primary)
	for range 60 {
		check(t, primary.Exec("INSERT INTO t VALUES (1)", "SELECT pg_switch_wal()"))
	}
	eventually(t, primary, "SELECT archived_count >= 60 FROM pg_stat_archiver")
	// recovery_prefetch would fetch nearly all of these files, which hold little, before the first record is replayed.
	s := startCopy(t, b, data, "archive_mode = off\nrecovery_prefetch = off\nrestore_command = 'sleep 2 && gunzip < "+archive+"/%f > %p'\n")
	eventually(t, s, "SELECT now() - pg_postmaster_start_time() > '62 s' AND now() - pg_last_xact_replay_timestamp() > '62 s' FROM pg_stat_get_wal_receiver() WHERE pid IS NULL")
	seen := look(t)
	want(t, seen, "postgres/standby-without-receiver", refOf(t, seen, s), rule.Quiet)
}

// TestSlotsThatHoldNothing: a slot that idle_replication_slot_timeout has
// invalidated still says from where it held WAL, and holds none.
func TestSlotsThatHoldNothing(t *testing.T) {
	sandbox.NeedTime(t, "PostgreSQL 18 is fetched from Maven Central: make test-real runs it")
	b := box(t)
	bin, err := sandbox.PostgresTree("18")
	check(t, err)
	s, err := b.Postgres(sandbox.PostgresOptions{Bindir: bin, Port: freePort(t), Settings: "idle_replication_slot_timeout = '1s'\n"})
	check(t, err)
	check(t, s.Exec("SELECT pg_create_physical_replication_slot('left', true)", "CREATE TABLE t (id integer)", "SELECT pg_sleep(2)", "SELECT pg_switch_wal()", "CHECKPOINT"))
	eventually(t, s, "SELECT invalidation_reason = 'idle_timeout' AND restart_lsn IS NOT NULL FROM pg_replication_slots")
	seen := look(t)
	db := seen.Find(refOf(t, seen, s))
	for name, want := range map[string]int64{"slots": 1, "slots_lost": 1, "slots_inactive": 0, "slots_inactive_retained": 0} {
		if n, known := db.Int(name); n != want || !known {
			t.Errorf("%s is %d, known: %t", name, n, known)
		}
	}
}

// eventually waits until a question is answered with yes.
func eventually(t *testing.T, s *sandbox.Server, question string) {
	t.Helper()
	db, err := s.Open()
	check(t, err)
	defer db.Close()
	var yes sql.NullBool
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(200 * time.Millisecond) {
		if err := db.QueryRow(question).Scan(&yes); err == nil && yes.Bool {
			return
		} else if time.Now().After(end) {
			t.Fatalf("%s: %v, %v", question, yes, err)
		}
	}
}

// TestPreparedXA: a transaction that was prepared and left by its session is
// counted and has an age. Whether it is forgotten takes an hour to see.
func TestPreparedXA(t *testing.T) {
	b := box(t)
	srv := mysqlOn(t, b, "", "")
	check(t, srv.Exec("CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY) ENGINE=InnoDB",
		"XA START 'a'; INSERT INTO x.t VALUES (1); XA END 'a'; XA PREPARE 'a'"))
	s := look(t)
	db := s.Find(refOf(t, s, srv))
	if n, ok := db.Int("xa_prepared"); !ok || n != 1 {
		t.Errorf("%d prepared, known %v", n, ok)
	}
	if n, ok := db.Int("xa_prepared_oldest"); !ok || n < 0 || n > 600 {
		t.Errorf("the oldest is %d s old, known %v", n, ok)
	}
	want(t, s, "mysql/xa-forgotten", db.Ref, rule.Quiet)
	check(t, srv.Exec("XA ROLLBACK 'a'"))
}

// TestRolesSeeLess: what a role may not see is unknown and says so.
func TestRolesSeeLess(t *testing.T) {
	b := box(t)
	srv, err := b.Postgres(sandbox.PostgresOptions{Port: freePort(t), TCP: true})
	check(t, err)
	check(t, srv.Exec("CREATE ROLE guest LOGIN", "CREATE TABLE t (id serial)", "INSERT INTO t DEFAULT VALUES"))
	r := plumb(t, "stack", "--json", "--dsn", fmt.Sprintf("postgres://guest@127.0.0.1:%d/postgres", srv.Port))
	s := r.seen(t)
	db := s.Find(refOf(t, s, srv))
	for _, name := range []string{"sequence_used", "multixact_members", "primary_conninfo"} {
		if f, known := db.Facts[name]; known {
			t.Errorf("%s is %v", name, f.Value)
		}
		if gap, ok := s.GapFor(db.Ref, name); !ok || gap.Hint == "" {
			t.Errorf("%s: gap %+v", name, gap)
		}
	}
}
