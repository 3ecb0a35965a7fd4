package main

import (
	"time"

	"plumb/internal/lab/experiment"
)

// zfs is an implementation of it.
type zfs struct {
	name, what string
	fuse       bool
	tape       string // a captured host that has it
}

func implementations() []zfs {
	return []zfs{
		{name: "fuse", what: "zfs-fuse 0.7.0, a ZFS of 2010 in a program of its own", fuse: true, tape: "mariadb-zfs-128K"},
		{name: "openzfs", what: "OpenZFS 2.3", tape: "mariadb-openzfs-2.3"},
	}
}

// engine is a database server of the contest.
type engine struct {
	name       string
	label      string
	tape       string           // a captured host that has one with its defaults
	rowBytes   int64            // of the read-write load, with indexes, as measured
	houseBytes int64            // of a warehouse, likewise
	cached     experiment.Bytes // of a gigabyte of memory, what its own cache has in all arms
	base       func(cache experiment.Bytes) map[string]string
}

// Every arm has the same memory for its cache and the same room for its log: what is compared is the layout.
func engines() []engine {
	return []engine{
		{name: "mariadb", label: "MariaDB", tape: "mariadb-ext4", rowBytes: 250, houseBytes: 82 << 20, cached: 384 << 20,
			base: func(cache experiment.Bytes) map[string]string {
				return map[string]string{"innodb_buffer_pool_size": cache.String(), "innodb_log_file_size": cache.String()}
			}},
		{name: "postgres", label: "PostgreSQL", tape: "postgres-ext4", rowBytes: 264, houseBytes: 100 << 20, cached: 320 << 20,
			base: func(cache experiment.Bytes) map[string]string {
				return map[string]string{"shared_buffers": (cache >> 20).String() + "MB", "max_wal_size": (4 * cache >> 20).String() + "MB"}
			}},
	}
}

// size is how large a cell is, and how long its trials are.
type size struct {
	memory  experiment.Bytes // of the server, its page cache and the ARC together
	arc     experiment.Bytes
	data    int64
	volume  experiment.Bytes
	blocks  int
	measure experiment.FileMeasure
	budget  time.Duration
}

// The data are more than memory holds: what a layout is good for shows when pages are read and written back. Emulated
// processors load and fill slowly, so with OpenZFS, which runs in a virtual machine, all is half of it.
func (c cell) size() size {
	const mega = 1 << 20
	long := experiment.FileMeasure{Fill: 30 * time.Second, Warmup: 20 * time.Second, Time: 60 * time.Second, Unsteady: true}
	switch {
	case c.small:
		return size{memory: 384 * mega, arc: 64 * mega, data: 100 * mega, volume: 2048 * mega, blocks: 1, budget: 30 * time.Minute,
			measure: experiment.FileMeasure{Fill: 3 * time.Second, Warmup: 2 * time.Second, Time: 6 * time.Second, Unsteady: true}}
	case c.zfs.fuse:
		return size{memory: 768 * mega, arc: 128 * mega, data: 1200 * mega, volume: 8192 * mega, blocks: 3, budget: 4 * time.Hour, measure: long}
	}
	return size{memory: 384 * mega, arc: 64 * mega, data: 550 * mega, volume: 4096 * mega, blocks: 3, budget: 12 * time.Hour, measure: long}
}

// cell is one experiment of the contest.
type cell struct {
	engine engine
	load   string // rw, tpcc
	zfs    zfs
	small  bool // a trial of the trial
}

// profile is the disk of all cells.
const (
	profile  = "iops=200,mbps=100"
	mostIOPS = 200
	mostMBps = 100 << 20
	threads  = 8
	tables   = 4
)

func (c cell) name() string {
	name := c.engine.name + "-" + c.load + "-" + c.zfs.name
	if c.small {
		name += "-small"
	}
	return name
}

// cells are all experiments.
func cells(small bool) (all []cell) {
	for _, z := range implementations() {
		for _, load := range []string{"rw", "tpcc"} {
			for _, e := range engines() {
				all = append(all, cell{e, load, z, small})
			}
		}
	}
	return all
}

// cache is what the server's own cache has.
func (c cell) cache() experiment.Bytes {
	const granule = 16 << 20
	return c.engine.cached * c.size().memory / (1 << 30) / granule * granule
}

func (c cell) workload() experiment.Load {
	if c.load == "tpcc" {
		return experiment.Load{Kind: experiment.TPCC, Warehouses: int(max(1, c.size().data/c.engine.houseBytes)), Threads: threads}
	}
	return experiment.Load{Kind: experiment.OLTP, Script: "oltp_read_write", Tables: tables, Rows: c.size().data / c.engine.rowBytes / tables / 1000 * 1000, Threads: threads}
}
