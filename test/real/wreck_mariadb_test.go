package real

import (
	"database/sql"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"plumb/test/sandbox"
)

func mariadbWrecks() []wreck {
	return []wreck{
		{name: "careless_mariadb", quick: true, start: carelessMariaDB, fires: []string{
			"mysql/sync-binlog-rare", "mysql/autoinc-interleaved-statement", "mysql/flush-log-at-trx-commit",
			"mysql/flush-method-no-sync", "mysql/connections-near-limit", "mysql/semi-sync-inactive", "mysql/myisam-tables",
			"mysql/removed-options", "mysql/ignored-options", "cross/mysql-binlog-never-expires", "cross/storage-doublewrite-off",
			"cross/storage-nearly-full", "cross/storage-inodes-nearly-out", "cross/kernel-nofile-mysql", "ext4/no-journal"}},
		{name: "mariadb_and_a_broken_replica", start: brokenReplica, fires: []string{
			"mysql/binlog-statement", "mysql/mariadb-replica-without-gtid", "mysql/replica-stopped", "mysql/force-recovery",
			"mysql/connections-refused"}},
		{name: "galera_of_two", start: galeraOfTwo, fires: []string{"mysql/galera-even", "mysql/galera-ignores-quorum", "mysql/galera-gcache"}},
		{name: "galera_cut_off", start: galeraCutOff, fires: []string{"mysql/galera-not-primary"}},
		{name: "mariadb_killed_for_memory", start: killedForMemory, fires: []string{"cross/kernel-cgroup-oom-kills", "cross/kernel-oom-first"}},
		{name: "servers_too_large_for_their_groups", start: tooLarge, fires: []string{"cross/mysql-memory-expected", "cross/postgres-memory-expected"}},
		{name: "mariadb_in_memory", start: inMemory, fires: []string{"cross/storage-data-in-memory"}},
		{name: "mariadb_without_fsync_on_xfs", start: noFsync, fires: []string{
			"cross/mysql-no-fsync-xfs", "cross/mysql-no-fsync-volatile", "ext4/nobarrier", "ext4/errors-seen"}},
	}
}

// carelessMariaDB has everything set for speed, on a filesystem without a
// journal that is nearly full, with few files and connections allowed.
func carelessMariaDB(t *testing.T, b *sandbox.Box) {
	dir, err := b.Filesystem("vol", "ext4", 500, []string{"-q", "-O", "^has_journal", "-N", "3000"}, "")
	check(t, err)
	srv, err := b.MySQL(sandbox.MySQLOptions{Datadir: dir + "/data", Port: freePort(t),
		Wrap: b.Limit("-n 1024"),
		Settings: `innodb_log_file_size=16M
log_bin
sync_binlog=1000
binlog_format=STATEMENT
innodb_autoinc_lock_mode=2
innodb_flush_log_at_trx_commit=2
innodb_doublewrite=0
innodb_flush_method=nosync
binlog_expire_logs_seconds=0
max_connections=10
rpl_semi_sync_master_enabled=1
rpl_semi_sync_master_timeout=1
`})
	check(t, err)
	check(t, srv.Exec("CREATE DATABASE x", "CREATE TABLE x.old (id INT PRIMARY KEY) ENGINE=MyISAM", "INSERT INTO x.old VALUES (1)",
		"CREATE TABLE x.new (id INT PRIMARY KEY) ENGINE=InnoDB", "INSERT INTO x.new VALUES (1)"))
	letGo(t, srv, 9)
	fill(t, dir, 93, 2700)
	// A file counts as changed since the start two seconds after it.
	eventually(t, srv, "SELECT variable_value > 3 FROM information_schema.global_status WHERE variable_name = 'UPTIME'")
	add(t, b.Dir+"/mysql-run/my.cnf", "innodb_support_xa=1\ninnodb_locks_unsafe_for_binlog=1\n") // it would end at the first, and passes over the second
}

// letGo opens so many connections at once, and closes them.
func letGo(t *testing.T, srv *sandbox.Server, connections int) {
	t.Helper()
	db, err := srv.Open()
	check(t, err)
	defer db.Close()
	db.SetMaxIdleConns(0)
	var held []*sql.Conn
	for range connections {
		c, err := db.Conn(t.Context())
		if err != nil {
			break // refused: what some want
		}
		held = append(held, c)
	}
	for _, c := range held {
		c.Close()
	}
}

// brokenReplica has a source with statements in its binary log, and a replica
// at a position instead of a GTID, whose SQL thread stands.
func brokenReplica(t *testing.T, b *sandbox.Box) {
	port := freePort(t)
	source, err := b.MySQL(sandbox.MySQLOptions{Name: "source", Port: port, Settings: "innodb_log_file_size=16M\nlog_bin\nserver_id=1\nbinlog_format=STATEMENT\n"})
	check(t, err)
	check(t, source.Exec("CREATE USER r@127.0.0.1 IDENTIFIED BY 'r'", "GRANT REPLICATION SLAVE ON *.* TO r@127.0.0.1"))
	o := sandbox.MySQLOptions{Name: "replica", Port: freePort(t), Settings: "innodb_log_file_size=16M\nserver_id=2\nmax_connections=10\n"}
	replica, err := b.MySQL(o)
	check(t, err)
	check(t, replica.Stop())
	o.Settings += "innodb_force_recovery=1\n" // with which no data directory can be made
	replica, err = b.MySQL(o)
	check(t, err)
	check(t, replica.Exec(fmt.Sprintf("CHANGE MASTER TO master_host='127.0.0.1', master_port=%d, master_user='r', master_password='r', master_use_gtid=no", port),
		"START SLAVE IO_THREAD"))
	for range 20 { // refused once is no more than a note
		letGo(t, replica, 20)
	}
	eventually(t, replica, "SELECT variable_value > 1 FROM information_schema.global_status WHERE variable_name = 'UPTIME'") // a rate takes time
	eventually(t, source, "SELECT COUNT(*) > 0 FROM information_schema.processlist WHERE command = 'Binlog Dump'")
}

// killedForMemory has a program in the server's group that took all the
// group's memory and was killed. The server itself would be the next.
func killedForMemory(t *testing.T, b *sandbox.Box) {
	wrap, err := b.Cgroup(600 << 20)
	check(t, err)
	srv, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t), Wrap: wrap, Settings: "innodb_log_file_size=16M\ninnodb_buffer_pool_size=16M\n"})
	check(t, err)
	check(t, os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", srv.PID), []byte("500"), 0))
	hog := exec.Command(wrap[0], append(wrap[1:], "sh", "-c", "echo 1000 > /proc/self/oom_score_adj; exec tail /dev/zero")...)
	if err := hog.Run(); err == nil {
		t.Fatal("a program that takes all the group's memory was not killed")
	}
}

// tooLarge has a cache that each server's control group has room for, and
// not for what else the server needs.
func tooLarge(t *testing.T, b *sandbox.Box) {
	wrap, err := b.Cgroup(600 << 20)
	check(t, err)
	_, err = b.MySQL(sandbox.MySQLOptions{Port: freePort(t), Wrap: wrap, Settings: "innodb_log_file_size=16M\ninnodb_buffer_pool_size=500M\nkey_buffer_size=200M\n"})
	check(t, err)
	_, err = b.Postgres(sandbox.PostgresOptions{Port: freePort(t), Wrap: wrap, Settings: "shared_buffers = 400MB\nwal_buffers = 256MB\n"})
	check(t, err)
}

// inMemory has its data where a restart of the machine ends them.
func inMemory(t *testing.T, b *sandbox.Box) {
	dir, err := b.Mount("memory", "tmpfs", "none", "size=300m")
	check(t, err)
	mysqlOn(t, b, dir+"/data", "")
}

// noFsync leaves fsync out where it must not: on XFS, on a disk with a
// volatile cache. Its redo log lies on an ext4 without barriers that has seen
// an error.
func noFsync(t *testing.T, b *sandbox.Box) {
	log, err := b.Filesystem("log", "ext4", 200, []string{"-q"}, "nobarrier,errors=continue")
	check(t, err)
	mysqlOn(t, b, volume(t, b, "xfs"), "innodb_flush_method=O_DIRECT_NO_FSYNC\ninnodb_log_group_home_dir="+log+"\n")
	run(t, "sh", "-c", `echo "made by a test" > "$1"`, "sh", "/sys/fs/ext4/"+deviceOf(t, log)+"/trigger_fs_error")
}

// galera makes a cluster of two. The second is a copy of the
// first, so that no state has to be sent. With ignore each goes on without a majority.
func galera(t *testing.T, b *sandbox.Box, ignore bool) (one, two *sandbox.Server) {
	const provider = "/usr/lib/galera/libgalera_smm.so"
	if _, err := os.Stat(provider); err != nil {
		check(t, sandbox.Missing{What: "no Galera", Hint: "apt-get install galera-4"})
	}
	ports := []int{freePort(t), freePort(t)}
	node := func(n int, join string) sandbox.MySQLOptions {
		return sandbox.MySQLOptions{Name: fmt.Sprintf("node%d", n), Port: freePort(t), Settings: fmt.Sprintf(`innodb_log_file_size=16M
binlog_format=ROW
innodb_autoinc_lock_mode=2
wsrep_on=ON
wsrep_sst_method=skip
wsrep_provider=%s
wsrep_cluster_name=plumb
wsrep_cluster_address=gcomm://%s
wsrep_node_address=127.0.0.1:%d
wsrep_provider_options="gcache.size=1M;pc.ignore_quorum=%v;gmcast.listen_addr=tcp://127.0.0.1:%d"
`, provider, join, ports[n], ignore, ports[n])}
	}
	first := node(0, "")
	one, err := b.MySQL(first)
	check(t, err)
	eventually(t, one, isPrimary)
	check(t, one.Stop())
	run(t, "cp", "-a", one.Dir, b.Dir+"/node1")
	one, err = b.MySQL(first)
	check(t, err)
	eventually(t, one, isPrimary)
	two, err = b.MySQL(node(1, fmt.Sprintf("127.0.0.1:%d", ports[0])))
	check(t, err)
	t.Cleanup(func() { // leaving a cluster in peace can take long
		for _, s := range []*sandbox.Server{one, two} {
			_ = syscall.Kill(s.PID, syscall.SIGKILL)
		}
	})
	eventually(t, one, "SELECT variable_value = 2 FROM information_schema.global_status WHERE variable_name = 'WSREP_CLUSTER_SIZE'")
	return one, two
}

// galeraOfTwo goes on without a majority, and has written many times what it keeps for a member that was away.
func galeraOfTwo(t *testing.T, b *sandbox.Box) {
	one, _ := galera(t, b, true)
	check(t, one.Exec("CREATE DATABASE x", "CREATE TABLE x.t (id INT PRIMARY KEY, pad VARCHAR(1000)) ENGINE=InnoDB"))
	for n := range 12 {
		check(t, one.Exec(fmt.Sprintf("INSERT INTO x.t SELECT seq, REPEAT('a', 1000) FROM mysql.seq_%d_to_%d", n*500+1, n*500+500)))
	}
	eventually(t, one, "SELECT variable_value >= 60 FROM information_schema.global_status WHERE variable_name = 'UPTIME'") // before, there is no rate
}

const isPrimary = "SELECT variable_value = 'Primary' FROM information_schema.global_status WHERE variable_name = 'WSREP_CLUSTER_STATUS'"

// galeraCutOff has lost half of a cluster, and with it the majority.
func galeraCutOff(t *testing.T, b *sandbox.Box) {
	one, two := galera(t, b, false)
	check(t, syscall.Kill(two.PID, syscall.SIGKILL))
	eventually(t, one, "SELECT variable_value <> 'Primary' FROM information_schema.global_status WHERE variable_name = 'WSREP_CLUSTER_STATUS'")
}
