package real

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"plumb/test/sandbox"
)

func postgresWrecks() []wreck {
	return []wreck{
		{name: "careless_postgres", quick: true, start: carelessPostgres, fires: []string{
			"postgres/fsync-off", "postgres/synchronous-commit-off", "postgres/zero-damaged-pages", "postgres/ignore-checksum-failure",
			"postgres/data-sync-retry", "postgres/archive-command-empty", "postgres/config-errors", "postgres/checksum-failures",
			"postgres/collation-mismatch", "postgres/slots-lost", "cross/storage-full-page-writes-off", "cross/postgres-wal-space"}},
		{name: "postgres_without_its_standby", start: withoutStandby, fires: []string{
			"postgres/sync-standby-missing", "postgres/archive-failing", "cross/postgres-memory-over"}},
		{name: "postgres_near_wraparound", start: nearWraparound, fires: []string{"postgres/wraparound-near-end"}},
		{name: "slot_that_fills_the_disk", start: slotFillsDisk, long: "writes a gigabyte of WAL", fires: []string{"cross/postgres-slot-fills-disk"}},
	}
}

// carelessPostgres has every guard off, on a volume that is nearly full.
func carelessPostgres(t *testing.T, b *sandbox.Box) {
	dir, err := b.Filesystem("vol", "ext4", 700, []string{"-q"}, "")
	check(t, err)
	srv, err := b.Postgres(sandbox.PostgresOptions{Datadir: dir + "/data", Port: freePort(t), Initdb: []string{"--data-checksums"}, Settings: `
fsync = off
full_page_writes = off
synchronous_commit = off
zero_damaged_pages = on
ignore_checksum_failure = on
data_sync_retry = on
archive_mode = on
archive_command = ''
max_slot_wal_keep_size = 1MB
max_wal_size = 10GB
shared_buffers = 128kB
`})
	check(t, err)
	check(t, srv.Exec("CREATE DATABASE sorted TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en'",
		"UPDATE pg_database SET datcollversion = '1' WHERE datname = 'sorted'", "CREATE TABLE small AS SELECT 1 AS n", "CREATE TABLE large AS SELECT repeat('x', 1000) AS pad FROM generate_series(1, 5000)",
		"SELECT pg_create_physical_replication_slot('forgotten', true)"))
	damage(t, srv)
	for range 6 {
		check(t, srv.Exec("INSERT INTO large VALUES ('y')", "SELECT pg_switch_wal()"))
	}
	check(t, srv.Exec("CHECKPOINT"))
	fill(t, dir, 90, 0)
	add(t, srv.Dir+"/postgresql.conf", "\nno_such_setting = 1\n")
	check(t, srv.Exec("SELECT pg_reload_conf()"))
	eventually(t, srv, "SELECT count(*) > 0 FROM pg_file_settings WHERE error IS NOT NULL")
}

// damage writes over a page on the disk, has its buffer needed for other
// pages, and reads it.
func damage(t *testing.T, srv *sandbox.Server) {
	t.Helper()
	db, err := srv.Open()
	check(t, err)
	defer db.Close()
	file := ""
	check(t, db.QueryRow("SELECT pg_relation_filepath('small')").Scan(&file))
	check(t, srv.Exec("CHECKPOINT", "SELECT count(*) FROM large"))
	f, err := os.OpenFile(filepath.Join(srv.Dir, file), os.O_WRONLY, 0)
	check(t, err)
	_, err = f.WriteAt([]byte("damage"), 4000)
	check(t, err)
	check(t, f.Close())
	eventually(t, srv, "SELECT (SELECT count(*) FROM large) > 0 AND (SELECT count(*) FROM small) >= 0 AND sum(checksum_failures) > 0 FROM pg_stat_database")
}

// withoutStandby waits for a standby that is not there, archives to nowhere,
// and has most of the machine's memory for itself.
func withoutStandby(t *testing.T, b *sandbox.Box) {
	var machine syscall.Sysinfo_t
	check(t, syscall.Sysinfo(&machine))
	srv := postgresOn(t, b, "", fmt.Sprintf("synchronous_standby_names = 'nobody'\narchive_mode = on\narchive_command = 'false'\nshared_buffers = %dMB\n",
		machine.Totalram*uint64(machine.Unit)/100*85>>20))
	check(t, srv.Exec("SELECT pg_switch_wal()"))
	eventually(t, srv, "SELECT failed_count > 0 FROM pg_stat_archiver")
}

// nearWraparound has used up three quarters of the transaction ids: pg_resetwal
// sets the counter, and an empty segment of pg_xact stands for what was
// committed. A vacuum that creeps leaves it so.
func nearWraparound(t *testing.T, b *sandbox.Box) {
	o := sandbox.PostgresOptions{Port: freePort(t), Settings: "autovacuum_vacuum_cost_delay = 100ms\nautovacuum_vacuum_cost_limit = 1\nvacuum_failsafe_age = 2100000000\n"}
	srv, err := b.Postgres(o)
	check(t, err)
	check(t, srv.Exec("CREATE TABLE large AS SELECT repeat('x', 1000) AS pad FROM generate_series(1, 50000)", "CHECKPOINT"))
	check(t, srv.Stop())
	const next = 1_600_000_000
	segment := filepath.Join(srv.Dir, "pg_xact", fmt.Sprintf("%04X", next/(32*8192*4)))
	check(t, os.WriteFile(segment, make([]byte, 32*8192), 0o600))
	uid, gid := b.User()
	check(t, os.Chown(segment, uid, gid))
	check(t, b.Resetwal(srv.Dir, "-x", fmt.Sprint(next)))
	_, err = b.Postgres(o)
	check(t, err)
}

// slotFillsDisk has a replication slot that nobody reads, and a disk that its
// WAL will fill.
func slotFillsDisk(t *testing.T, b *sandbox.Box) {
	dir, err := b.Filesystem("vol", "ext4", 2500, []string{"-q"}, "")
	check(t, err)
	srv := postgresOn(t, b, dir+"/data", "fsync = off\nmax_wal_size = 64MB\nmin_wal_size = 32MB\n")
	check(t, srv.Exec("SELECT pg_create_physical_replication_slot('forgotten', true)", "CREATE TABLE t (n int)"))
	for range 80 {
		check(t, srv.Exec("INSERT INTO t VALUES (1)", "SELECT pg_switch_wal()"))
	}
}
