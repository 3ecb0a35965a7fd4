package real

import (
	"fmt"
	"os"
	"testing"

	"plumb/test/sandbox"
)

// fetchedWrecks are those of servers that no Debian has installed.
func fetchedWrecks() []wreck {
	return []wreck{
		{name: "careless_mysql", start: carelessMySQL, long: "MySQL is fetched from Debian sid", fires: []string{
			"mysql/redo-log-disabled", "mysql/checksum-none", "mysql/log-checksums-off", "mysql/sync-binlog-off",
			"cross/storage-doublewrite-detect-only"}},
		{name: "mariadb_with_fast_doublewrite", start: fastDoublewrite, long: "MariaDB 11.4 is fetched from Maven Central", fires: []string{
			"cross/mysql-doublewrite-fast", "cross/mysql-pool-over-memory"}},
		{name: "mysql_group_without_majority", start: halfGroup, long: "MySQL is fetched from Debian sid", fires: []string{"mysql/group-majority-lost"}},
		{name: "mysql_left_its_group", start: leftGroup, long: "MySQL is fetched from Debian sid", fires: []string{"mysql/group-majority-lost"}},
		{name: "postgres_on_compressed_btrfs", start: compressedBtrfs, long: "PostgreSQL 18 is fetched from Maven Central", fires: []string{
			"cross/storage-btrfs-compress-postgres"}},
		{name: "postgres_11.1", start: oldPostgres("11.1"), long: "PostgreSQL 11.1 is fetched from Maven Central", fires: []string{"postgres/fsync-retry-minor"}},
		{name: "postgres_14.0", start: oldPostgres("14.0"), long: "PostgreSQL 14.0 is fetched from Maven Central", fires: []string{"postgres/index-concurrently-14"}},
	}
}

// carelessMySQL has every checksum off, no redo log, and no fsync though its
// data lie on two filesystems.
func carelessMySQL(t *testing.T, b *sandbox.Box) {
	base, loader, err := sandbox.MySQLTree()
	check(t, err)
	log, err := b.Filesystem("log", "ext4", 300, []string{"-q"}, "")
	check(t, err)
	srv, err := b.MySQL(sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Datadir: volume(t, b, "ext4"), Port: freePort(t), Settings: `
innodb_doublewrite=DETECT_ONLY
innodb_flush_method=O_DIRECT_NO_FSYNC
innodb_log_group_home_dir=` + log + `
innodb_redo_log_capacity=64M
sync_binlog=0
`})
	check(t, err)
	check(t, srv.Exec("SET GLOBAL innodb_checksum_algorithm = none", "SET GLOBAL innodb_log_checksums = OFF", "ALTER INSTANCE DISABLE INNODB REDO_LOG"))
}

// fastDoublewrite skips the flush of the doublewrite buffer, which lies on
// another filesystem than the data. Its pool is larger than the machine, which
// this release still takes.
func fastDoublewrite(t *testing.T, b *sandbox.Box) {
	base, err := sandbox.MariaDBTree()
	check(t, err)
	home, err := b.Filesystem("home", "ext4", 300, []string{"-q"}, "")
	check(t, err)
	_, err = b.MySQL(sandbox.MySQLOptions{Basedir: base, Datadir: volume(t, b, "ext4"), Port: freePort(t),
		Settings: "innodb_log_file_size=16M\ninnodb_doublewrite=fast\ninnodb_buffer_pool_size=40G\ninnodb_data_home_dir=" + home + "\n"})
	check(t, err)
}

// halfGroup has lost one of the two members of a replication group.
func halfGroup(t *testing.T, b *sandbox.Box) {
	one := groupOfTwo(t, b, "")
	eventually(t, one, "SELECT COUNT(*) = 1 FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'UNREACHABLE'")
}

// leftGroup has waited for the other member as long as it was told to, and is in no group any more: it sees itself alone, as ERROR,
// and takes no writes.
func leftGroup(t *testing.T, b *sandbox.Box) {
	one := groupOfTwo(t, b, "loose_group_replication_unreachable_majority_timeout=5")
	eventually(t, one, "SELECT COUNT(*) = 1 AND MAX(MEMBER_STATE) = 'ERROR' AND @@super_read_only FROM performance_schema.replication_group_members")
}

// groupOfTwo gives the member that is left of a replication group of two. The second began as a copy of the first, so that it
// had nothing to fetch.
func groupOfTwo(t *testing.T, b *sandbox.Box, settings string) *sandbox.Server {
	base, loader, err := sandbox.MySQLTree()
	check(t, err)
	ports := []int{freePort(t), freePort(t)}
	member := func(n int) sandbox.MySQLOptions {
		return sandbox.MySQLOptions{Name: fmt.Sprintf("member%d", n), Basedir: base, Loader: loader, Native: true, Port: freePort(t), Settings: fmt.Sprintf(`
innodb_redo_log_capacity=32M
server_id=%d
gtid_mode=ON
enforce_gtid_consistency=ON
report_host=127.0.0.1
loose_plugin_load_add=group_replication.so
loose_group_replication_group_name=5f1d6a3e-0000-4000-8000-000000000001
loose_group_replication_start_on_boot=OFF
loose_group_replication_recovery_get_public_key=ON
loose_group_replication_local_address=127.0.0.1:%d
loose_group_replication_group_seeds=127.0.0.1:%d,127.0.0.1:%d
%s
`, n+1, ports[n], ports[0], ports[1], settings)}
	}
	one, err := b.MySQL(member(0))
	check(t, err)
	check(t, one.Exec("CREATE USER r@'127.0.0.1' IDENTIFIED BY 'r'", "GRANT REPLICATION SLAVE, BACKUP_ADMIN, CONNECTION_ADMIN, GROUP_REPLICATION_STREAM ON *.* TO r@'127.0.0.1'",
		"CHANGE REPLICATION SOURCE TO SOURCE_USER='r', SOURCE_PASSWORD='r' FOR CHANNEL 'group_replication_recovery'"))
	check(t, one.Stop())
	run(t, "cp", "-a", one.Dir, b.Dir+"/member1")
	check(t, os.Remove(b.Dir+"/member1/auto.cnf")) // which says which server it is
	one, err = b.MySQL(member(0))
	check(t, err)
	two, err := b.MySQL(member(1))
	check(t, err)
	check(t, one.Exec("SET GLOBAL group_replication_bootstrap_group=ON", "START GROUP_REPLICATION", "SET GLOBAL group_replication_bootstrap_group=OFF"))
	check(t, two.Exec("START GROUP_REPLICATION"))
	eventually(t, one, "SELECT COUNT(*) = 2 FROM performance_schema.replication_group_members WHERE MEMBER_STATE = 'ONLINE'")
	check(t, two.Kill())
	t.Cleanup(func() { _ = one.Kill() }) // alone it does not leave its group in peace
	return one
}

// compressedBtrfs has PostgreSQL reserve the space of its files, which btrfs then does not compress.
func compressedBtrfs(t *testing.T, b *sandbox.Box) {
	bin, err := sandbox.PostgresTree("18")
	check(t, err)
	dir, err := b.Filesystem("vol", "btrfs", 500, []string{"-q"}, "compress=zstd")
	check(t, err)
	_, err = b.Postgres(sandbox.PostgresOptions{Bindir: bin, Datadir: dir + "/data", Port: freePort(t)})
	check(t, err)
}

// oldPostgres has a minor release with a known fault.
func oldPostgres(version string) func(t *testing.T, b *sandbox.Box) {
	return func(t *testing.T, b *sandbox.Box) {
		bin, err := sandbox.PostgresTree(version)
		check(t, err)
		_, err = b.Postgres(sandbox.PostgresOptions{Bindir: bin, Port: freePort(t)})
		check(t, err)
	}
}
