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

// form is how much of a cell is run; it ends the name of its experiment.
type form string

const (
	whole form = ""
	short form = "-short" // the crash-safe arms alone, measured for less time: figures with wider intervals, within the hour
	small form = "-small" // a trial of the trial: the crash-safe arms with little data, one block, seconds; not for figures
)

// The data are more than memory holds: what a layout is good for shows when pages are read and written back. Emulated
// processors load and fill slowly, so with OpenZFS, which runs in a virtual machine, all is half of it. The short form has the same
// data, memory and blocks: with less data zfs-fuse's own memory would hold them, and fewer blocks tell how sure nothing is.
func (c cell) size() size {
	const mega = 1 << 20
	if c.form == small {
		return size{memory: 384 * mega, arc: 64 * mega, data: 100 * mega, volume: 2048 * mega, blocks: 1, budget: 30 * time.Minute, measure: windows(3, 2, 6)}
	}
	s := size{memory: 384 * mega, arc: 64 * mega, data: 550 * mega, volume: 4096 * mega, blocks: 3, budget: 12 * time.Hour, measure: windows(30, 20, 60)}
	if c.zfs.fuse {
		s.memory, s.arc, s.data, s.volume, s.budget = 768*mega, 128*mega, 1200*mega, 8192*mega, 4*time.Hour
	}
	if c.form == short { // the data, a copy of them, and what three blocks add: a machine must have room for six volumes
		s.measure, s.budget, s.volume = windows(15, 5, 25), s.budget/4, 4096*mega
		if c.engine.name == "postgres" || c.load == "tpcc" { // its WAL; TPC-C's indexes
			s.volume += 1024 * mega
		}
	}
	return s
}

// windows are the seconds of a trial in which caches are filled, the load settles, and it is measured.
func windows(fill, settle, measured int) experiment.FileMeasure {
	return experiment.FileMeasure{Fill: time.Duration(fill) * time.Second, Warmup: time.Duration(settle) * time.Second,
		Time: time.Duration(measured) * time.Second, Unsteady: true}
}

// cell is one experiment of the contest.
type cell struct {
	engine engine
	load   string // rw, tpcc
	zfs    zfs
	form   form
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
	return c.engine.name + "-" + c.load + "-" + c.zfs.name + string(c.form)
}

// cells are all experiments of a form.
func cells(f form) (all []cell) {
	for _, z := range implementations() {
		for _, load := range []string{"rw", "tpcc"} {
			for _, e := range engines() {
				all = append(all, cell{e, load, z, f})
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
