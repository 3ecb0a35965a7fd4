package real

import (
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

// oldPostgres has a minor release with a known fault.
func oldPostgres(version string) func(t *testing.T, b *sandbox.Box) {
	return func(t *testing.T, b *sandbox.Box) {
		bin, err := sandbox.PostgresTree(version)
		check(t, err)
		_, err = b.Postgres(sandbox.PostgresOptions{Bindir: bin, Port: freePort(t)})
		check(t, err)
	}
}
