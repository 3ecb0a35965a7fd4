package real

import (
	"testing"

	"plumb/internal/rule"
	"plumb/test/sandbox"
)

// dataset makes a pool with one dataset and gives a data directory on it.
func dataset(t *testing.T, b *sandbox.Box, vdevs []string, properties ...string) string {
	t.Helper()
	pool, err := b.ZFSFuse(600, vdevs...)
	check(t, err)
	dir, err := pool.Dataset("data", properties...)
	check(t, err)
	return dir + "/mysql"
}

// bufferedOnZFS is how InnoDB has to write on zfs-fuse, which knows no O_DIRECT.
const bufferedOnZFS = "innodb_flush_method=fsync\n"

// onZFS has the pairs that need a pool. zfs-fuse is a real ZFS of 2013; what
// is about newer ones is tested in a VM elsewhere.
func onZFS() []pair {
	return []pair{
		{name: "innodb_in_128k_records", rule: "cross/zfs-recordsize-innodb",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, dataset(t, b, nil, "recordsize="+choose(sick, "128K", "16K")), bufferedOnZFS)
			}},
		{name: "doublewrite_off_and_record_smaller_than_page", rule: "cross/zfs-doublewrite-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, dataset(t, b, nil, "recordsize="+choose(sick, "8K", "16K")), bufferedOnZFS+"innodb_doublewrite=0\n")
			}},
		{name: "doublewrite_off_with_throughput_logbias", rule: "cross/zfs-doublewrite-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, dataset(t, b, nil, "recordsize=16K", "logbias="+choose(sick, "throughput", "latency")),
					bufferedOnZFS+"innodb_doublewrite=0\n")
			}},
		{name: "doublewrite_off_all_conditions_seem_to_hold", rule: "cross/zfs-doublewrite-off-unproven",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, dataset(t, b, nil, "recordsize=16K"), bufferedOnZFS+"innodb_doublewrite="+choose(sick, "0", "1")+"\n")
			}},
		{name: "no_fsync_on_zfs", rule: "cross/zfs-no-fsync",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, dataset(t, b, nil, "recordsize=16K"), "innodb_flush_method="+choose(sick, "O_DIRECT_NO_FSYNC", "fsync")+"\n")
			}},
		{name: "throughput_logbias_on_data", rule: "cross/zfs-logbias-innodb",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, dataset(t, b, nil, "recordsize=16K", "logbias="+choose(sick, "throughput", "latency")), bufferedOnZFS)
			}},
		{name: "primarycache_metadata_with_cache_device", rule: "cross/zfs-primarycache-l2arc-mysql",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, dataset(t, b, []string{"cache", "LOOP"}, "recordsize=16K", "primarycache="+choose(sick, "metadata", "all")), bufferedOnZFS)
			}},
		{name: "native_aio_on_zfs", rule: "cross/zfs-native-aio", long: "MySQL is fetched from Debian sid",
			start: mysqlWithAIO},
		{name: "redo_and_data_in_different_pools", rule: "cross/zfs-pools-apart-mysql", too: "protect/set-not-atomic-mysql",
			start: twoPools(func(t *testing.T, b *sandbox.Box, data, log string) *sandbox.Server {
				return mysqlOn(t, b, data+"/mysql", bufferedOnZFS+"innodb_log_group_home_dir="+log+"\n")
			})},
		{name: "wal_and_data_in_different_pools", rule: "cross/zfs-pools-apart-postgres", too: "protect/set-not-atomic-postgres",
			start: twoPools(func(t *testing.T, b *sandbox.Box, data, log string) *sandbox.Server {
				s, err := b.Postgres(sandbox.PostgresOptions{Datadir: data + "/postgres", WALdir: log + "/wal", Port: freePort(t)})
				check(t, err)
				return s
			})},
		{name: "wal_recycle_on_zfs", rule: "cross/postgres-wal-recycle-cow",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return postgresOn(t, b, dataset(t, b, nil, "recordsize=16K"), "wal_recycle = "+choose(sick, "on", "off")+"\nwal_init_zero = "+choose(sick, "on", "off"))
			}},
		{name: "full_page_writes_off_and_record_smaller_than_page", rule: "cross/zfs-full-page-writes-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return postgresOn(t, b, dataset(t, b, nil, "recordsize="+choose(sick, "4K", "8K")), "full_page_writes = off")
			}},
	}
}

func mysqlWithAIO(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	base, loader, err := sandbox.MySQLTree()
	check(t, err)
	s, err := b.MySQL(sandbox.MySQLOptions{Basedir: base, Loader: loader, Native: true, Datadir: dataset(t, b, nil, "recordsize=16K"),
		Port: freePort(t), Settings: bufferedOnZFS + "innodb_use_native_aio=" + choose(sick, "1", "0") + "\n"})
	check(t, err)
	return s
}

// twoPools has data and log in two pools, with or without snapshots.
func twoPools(start func(t *testing.T, b *sandbox.Box, data, log string) *sandbox.Server) func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
	return func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
		first, err := b.ZFSFuse(600)
		check(t, err)
		data, err := first.Dataset("data", "recordsize=16K")
		check(t, err)
		second, err := b.ZFSFuse(300)
		check(t, err)
		log, err := second.Dataset("log")
		check(t, err)
		srv := start(t, b, data, log)
		if sick {
			check(t, first.Snapshot("daily", "data"))
			check(t, second.Snapshot("daily", "log"))
		}
		return srv
	}
}

// TestSnapshotSet has data and redo in two datasets of one pool with
// snapshots taken by two commands. OpenZFS tells their transaction groups,
// and storage/zfs tests that on its documented text; zfs-fuse does not, so
// here the answer has to be unknown, whichever way they were taken.
func TestSnapshotSet(t *testing.T) {
	b := box(t)
	pool, err := b.ZFSFuse(600)
	check(t, err)
	data, err := pool.Dataset("data", "recordsize=16K")
	check(t, err)
	log, err := pool.Dataset("log")
	check(t, err)
	srv := mysqlOn(t, b, data+"/mysql", bufferedOnZFS+"innodb_log_group_home_dir="+log+"\n")
	check(t, pool.Snapshot("daily", "data", "log"))
	s := look(t)
	want(t, s, "cross/zfs-snapshots-apart-mysql", refOf(t, s, srv), rule.Unknown)
}

// TestRecordOfPageSizeIsOnlyUnproven: with record = page the danger rule is
// quiet and what cannot be seen is said.
func TestRecordOfPageSizeIsOnlyUnproven(t *testing.T) {
	b := box(t)
	srv := mysqlOn(t, b, dataset(t, b, nil, "recordsize=16K"), bufferedOnZFS+"innodb_doublewrite=0\n")
	s := look(t)
	ref := refOf(t, s, srv)
	want(t, s, "cross/zfs-doublewrite-off", ref, rule.Quiet)
	want(t, s, "cross/zfs-doublewrite-off-unproven", ref, rule.Fires)
}
