package formula

import "maps"

// What the source documents set by hand (seed:pg-01): PostgreSQL 10 with
// 256 GB of memory.
const pg01Memory = 256 * gib

// PostgresByHand gives the crash-safe settings of seed:pg-01. Sizes of memory
// keep their part of it. The sizes of the WAL do not: they bound checkpoints by
// time, and a part of the memory would bound them by volume, so max_wal_size is
// what a contest's volume holds, and min_wal_size is as it was.
func PostgresByHand(m Machine) Advice {
	part := func(gigabytes int64) string { return kB(gigabytes * gib / (pg01Memory / mib) * (m.Memory / mib) / kib) }
	return Advice{Adviser: "by hand", Version: "seed:pg-01",
		Settings: map[string]string{
			"shared_buffers":                 part(192),
			"effective_cache_size":           part(200),
			"maintenance_work_mem":           part(2),
			"work_mem":                       "4MB",
			"random_page_cost":               "1",
			"seq_page_cost":                  "1",
			"wal_level":                      "replica",
			"max_wal_senders":                "3",
			"synchronous_commit":             "on",
			"max_wal_size":                   "4GB",
			"min_wal_size":                   "1GB",
			"checkpoint_timeout":             "1h",
			"checkpoint_completion_target":   "0.9",
			"autovacuum_vacuum_scale_factor": "0.4",
			"bgwriter_lru_maxpages":          "1000",
			"bgwriter_lru_multiplier":        "10",
			"wal_compression":                "on",
			"log_checkpoints":                "on",
			"full_page_writes":               "on",
			"fsync":                          "on",
		},
		Notes: []string{"By hand is seed:pg-01: shared_buffers, effective_cache_size and maintenance_work_mem are the same parts of the memory as there " +
			"(75 %, 78 %, 0.8 %); max_wal_size is 4GB in place of 100GB, which the volume would not hold, and serves the same end, checkpoints by time; " +
			"archive_mode is left out, as without a command it would keep all WAL."}}
}

// PostgresUnsafe gives the settings of seed:pg-01 that a crash does not forgive.
func PostgresUnsafe(m Machine) Advice {
	a := PostgresByHand(m)
	a.Settings = maps.Clone(a.Settings)
	for _, name := range []string{"full_page_writes", "fsync", "synchronous_commit"} {
		a.Settings[name] = "off"
	}
	a.Unsafe, a.Notes = true, nil
	return a
}

// MariaDBByHand gives what of zfs-setup-04 and zfs-setup-05 has a meaning on
// ext4 and exists in MariaDB 10.11, with the pool of the same author's test
// (zfs-ext4-02): 26 GB of 32.
func MariaDBByHand(m Machine) Advice {
	return Advice{Adviser: "by hand", Version: "seed:zfs-setup-04, zfs-setup-05, zfs-ext4-02",
		Settings: map[string]string{
			"innodb_buffer_pool_size": size(m.Memory / 32 * 26),
			"innodb_flush_method":     "O_DIRECT",
			"innodb_flush_neighbors":  "0",
			"innodb_use_native_aio":   "OFF",
			"innodb_read_io_threads":  "10",
			"innodb_write_io_threads": "10",
		},
		Notes: []string{"By hand is zfs-setup-04 for ext4 with the pool of zfs-ext4-02, 26 of 32 parts of the memory. Left out: innodb_doublewrite=0, " +
			"which only a filesystem that writes records whole allows, innodb_checksum_algorithm=none and innodb_use_atomic_writes, which went away, " +
			"and innodb_log_write_ahead_size, which was to match ZFS's records."}}
}

// MariaDBUnsafe gives the same with the doublewrite buffer off, as the
// documents have it on ZFS. On ext4 a page that was torn by a crash is lost.
func MariaDBUnsafe(m Machine) Advice {
	a := MariaDBByHand(m)
	a.Settings = maps.Clone(a.Settings)
	a.Settings["innodb_doublewrite"] = "OFF"
	a.Unsafe, a.Notes = true, nil
	return a
}
