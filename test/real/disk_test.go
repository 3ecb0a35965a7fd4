package real

import (
	"testing"

	"plumb/test/sandbox"
)

func onOtherFilesystems() []pair {
	return []pair{
		{name: "doublewrite_off_on_ext4", rule: "cross/storage-doublewrite-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, volume(t, b, "ext4"), "innodb_doublewrite="+choose(sick, "0", "1")+"\n")
			}},
		{name: "doublewrite_off_on_xfs", rule: "cross/storage-doublewrite-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, volume(t, b, "xfs"), "innodb_doublewrite="+choose(sick, "0", "1")+"\n")
			}},
		{name: "doublewrite_off_on_btrfs", rule: "cross/storage-doublewrite-off-btrfs",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return mysqlOn(t, b, volume(t, b, "btrfs"), "innodb_doublewrite="+choose(sick, "0", "1")+"\n")
			}},
		{name: "full_page_writes_off_on_ext4", rule: "cross/storage-full-page-writes-off",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return postgresOn(t, b, volume(t, b, "ext4"), "full_page_writes = "+choose(sick, "off", "on"))
			}},
		{name: "wal_recycle_on_btrfs", rule: "cross/postgres-wal-recycle-cow",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				return postgresOn(t, b, volume(t, b, "btrfs"), "wal_recycle = "+choose(sick, "on", "off")+"\nwal_init_zero = "+choose(sick, "on", "off"))
			}},
		{name: "buffer_pool_larger_than_control_group", rule: "cross/kernel-cgroup-innodb",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				wrap, err := b.Cgroup(512 << 20)
				check(t, err)
				s, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t), Wrap: wrap, Settings: "innodb_buffer_pool_size=" + choose(sick, "1G", "128M") + "\n"})
				check(t, err)
				return s
			}},
		{name: "open_files_1024", rule: "cross/kernel-nofile-mysql",
			start: func(t *testing.T, b *sandbox.Box, sick bool) *sandbox.Server {
				s, err := b.MySQL(sandbox.MySQLOptions{Port: freePort(t), Settings: "table_open_cache=4000\n",
					Wrap: b.Limit("-n " + choose(sick, "1024", "$(ulimit -Hn)"))})
				check(t, err)
				return s
			}},
	}
}
