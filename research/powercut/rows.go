package main

import (
	"fmt"
	"path"
	"slices"
)

// kind is how the power is cut.
type kind string

const (
	// killed: QEMU dies with SIGKILL. Every write that the guest was told is
	// complete is kept, so this is the death of a machine whose disk has no
	// volatile cache, or one that is backed by a battery.
	killed kind = "killed"
	// replayed: the disk's writes are logged, and the log is replayed up to a
	// flush plus a random part of what followed it: the loss of power of a
	// disk with a volatile cache.
	replayed kind = "replayed"
	// aimed is replayed where it hurts: the log is cut when a page of InnoDB and
	// its copy in the doublewrite buffer were both written and not flushed, and
	// the disk lost the copy and kept half of the page. It says whether a
	// server stands what a disk may do, and nothing of how often one does it.
	aimed kind = "aimed"
)

// kinds are those that say how often something is lost.
func kinds() []kind { return []kind{killed, replayed} }

// row is one way to set up a server, of which the trials ask whether it keeps
// what it promised.
type row struct {
	name       string
	says       string // for people
	release    string // of Debian: it decides the versions of OpenZFS and of the servers; or onHost
	engine     string // mariadb, mysql or postgres
	storage    string // ext4, xfs or zfs
	record     string // record size of the dataset, with zfs
	properties []string
	settings   []string // of the server, beyond those of base
	versions   string   // of the kernel and the server, for a row on this host; "" in a machine
}

// Settings that all rows of an engine share. Caches and logs are small, so
// that pages are written and checkpoints taken within a trial's minute.
func (r row) base() []string {
	if r.engine == "mariadb" {
		return []string{"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M", "--log-bin=bin", "--server-id=1",
			"--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=1", "--innodb-flush-method=O_DIRECT"}
	}
	if r.engine == "mysql" {
		return []string{"--innodb-buffer-pool-size=64M", "--innodb-redo-log-capacity=32M", "--local-infile=1", "--log-bin=bin", "--server-id=1",
			"--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1", "--innodb-doublewrite=ON", "--innodb-flush-method=O_DIRECT"}
	}
	return []string{"-c", "shared_buffers=32MB", "-c", "checkpoint_timeout=30s", "-c", "max_wal_size=64MB", "-c", "fsync=on",
		"-c", "synchronous_commit=on", "-c", "full_page_writes=on"}
}

// all settings in order; the later of two that name one thing wins.
func (r row) arguments() []string { return slices.Concat(r.base(), r.settings) }

const (
	bookworm = "bookworm" // OpenZFS 2.1, MariaDB 10.11, PostgreSQL 15
	trixie   = "trixie"   // OpenZFS 2.3, MariaDB 11.8, PostgreSQL 17
	sid      = "sid"      // MySQL 9, unpacked on this host; no machine has it
)

// rows are all that the table has. The safe ones come first: a harness that
// loses commits there is itself at fault. The last one must lose some: it
// shows that a loss is seen.
func rows() []row {
	off := []string{"--innodb-doublewrite=0"}
	noFsync := []string{"--innodb-flush-method=O_DIRECT_NO_FSYNC"}
	fsync := []string{"--innodb-flush-method=fsync"}
	binlog := []string{"--sync-binlog=0"}
	pages := []string{"-c", "full_page_writes=off"}
	throughput := []string{"logbias=throughput"}
	return []row{
		{"mariadb-ext4", "ext4, doublewrite on", trixie, "mariadb", "ext4", "", nil, nil, ""},
		{"mariadb-xfs", "XFS, doublewrite on", trixie, "mariadb", "xfs", "", nil, nil, ""},
		{"mariadb-zfs21", "OpenZFS 2.1, 16K records, doublewrite on", bookworm, "mariadb", "zfs", "16K", nil, nil, ""},
		{"mariadb-zfs23", "OpenZFS 2.3, 16K records, doublewrite on", trixie, "mariadb", "zfs", "16K", nil, nil, ""},
		{"mariadb-zfs21-nodw", "OpenZFS 2.1, record = page, doublewrite off", bookworm, "mariadb", "zfs", "16K", nil, off, ""},
		{"mariadb-zfs23-nodw", "OpenZFS 2.3, record = page, doublewrite off", trixie, "mariadb", "zfs", "16K", nil, off, ""},
		{"mariadb-zfs21-throughput", "OpenZFS 2.1, logbias=throughput", bookworm, "mariadb", "zfs", "16K", throughput, nil, ""},
		{"mariadb-zfs23-throughput", "OpenZFS 2.3, logbias=throughput", trixie, "mariadb", "zfs", "16K", throughput, nil, ""},
		{"mariadb-ext4-nofsync", "ext4, O_DIRECT_NO_FSYNC", bookworm, "mariadb", "ext4", "", nil, noFsync, ""},
		{"mariadb-xfs-nofsync", "XFS, O_DIRECT_NO_FSYNC", bookworm, "mariadb", "xfs", "", nil, noFsync, ""},
		{"mariadb-zfs21-nofsync", "OpenZFS 2.1, O_DIRECT_NO_FSYNC", bookworm, "mariadb", "zfs", "16K", nil, noFsync, ""},
		{"mariadb-ext4-nodw", "ext4, doublewrite off", trixie, "mariadb", "ext4", "", nil, off, ""},
		{"mariadb-ext4-nobinlogsync", "ext4, sync_binlog=0", trixie, "mariadb", "ext4", "", nil, binlog, ""},
		{"mariadb-zfs21-nobinlogsync", "OpenZFS 2.1, sync_binlog=0", bookworm, "mariadb", "zfs", "16K", nil, binlog, ""},
		{"mysql-xfs-fsync", "XFS, innodb_flush_method=fsync", sid, "mysql", "xfs", "", nil, fsync, ""},
		{"mysql-ext4-fsync", "ext4, innodb_flush_method=fsync", sid, "mysql", "ext4", "", nil, fsync, ""},
		{"mysql-xfs", "XFS, O_DIRECT", sid, "mysql", "xfs", "", nil, nil, ""},
		{"mysql-ext4", "ext4, O_DIRECT", sid, "mysql", "ext4", "", nil, nil, ""},
		{"mysql-xfs-nodw", "XFS, O_DIRECT, doublewrite off (must tear)", sid, "mysql", "xfs", "", nil, off, ""},
		{"mysql-ext4-nodw", "ext4, O_DIRECT, doublewrite off (must tear)", sid, "mysql", "ext4", "", nil, off, ""},
		{"mysql-xfs-nofsync", "XFS, O_DIRECT_NO_FSYNC", sid, "mysql", "xfs", "", nil, noFsync, ""},
		{"mysql-ext4-nofsync", "ext4, O_DIRECT_NO_FSYNC", sid, "mysql", "ext4", "", nil, noFsync, ""},
		{"postgres-ext4", "ext4, full_page_writes on", trixie, "postgres", "ext4", "", nil, nil, ""},
		{"postgres-zfs21", "OpenZFS 2.1, 8K records, full_page_writes on", bookworm, "postgres", "zfs", "8K", nil, nil, ""},
		{"postgres-ext4-nofpw", "ext4, full_page_writes=off", trixie, "postgres", "ext4", "", nil, pages, ""},
		{"postgres-zfs21-nofpw", "OpenZFS 2.1, record = page, full_page_writes=off", bookworm, "postgres", "zfs", "8K", nil, pages, ""},
		{"postgres-zfs23-nofpw", "OpenZFS 2.3, record = page, full_page_writes=off", trixie, "postgres", "zfs", "8K", nil, pages, ""},
		{"postgres-ext4-async", "ext4, synchronous_commit=off (must lose)", trixie, "postgres", "ext4", "", nil, []string{"-c", "synchronous_commit=off", "-c", "wal_writer_delay=5s"}, ""},
	}
}

// chosen are the rows that a pattern such as mariadb-zfs* names.
func chosen(pattern string) (list []row, err error) {
	for _, r := range rows() {
		fits := pattern == ""
		if !fits {
			if fits, err = path.Match(pattern, r.name); err != nil {
				return nil, fmt.Errorf("-rows %s: %w", pattern, err)
			}
		}
		if fits {
			list = append(list, r)
		}
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("-rows %s fits no row: -list lists them", pattern)
	}
	return list, nil
}
