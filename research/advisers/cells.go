package main

import (
	"time"
)

// The machine of the contest: small, so that a trial is short, and in the
// proportions that the sources had. The data are four times the cache that
// both engines have when nothing is set, and half the memory.
const (
	memory  = 1 << 30   // bytes, of the server's control group
	data    = 512 << 20 // bytes
	cpus    = 2
	threads = 8
)

// engine is a database server of the contest.
type engine struct {
	name       string
	flavour    string // of MySQL
	defaults   string // what the default is called in notes
	warehouses int
	rowBytes   int64 // of the read-write load, with indexes, as measured
	houseBytes int64 // of a warehouse, likewise
}

func engines() []engine {
	return []engine{
		{name: "mariadb", flavour: "mariadb", defaults: "a buffer pool of 128M and a redo log of 96M",
			warehouses: 6, rowBytes: 250, houseBytes: 82 << 20},
		{name: "postgres", defaults: "shared_buffers of 128MB and max_wal_size 1GB",
			warehouses: 5, rowBytes: 264, houseBytes: 100 << 20},
	}
}

// volume is what a cell's data lie on.
type volume struct {
	name, profile, what string
	warmup              time.Duration // what was left to write when the caches were full has to be written, or waits for a checkpoint
	host                bool          // the arm that changes the machine runs here
	unsafe              bool          // the arm that is not crash-safe runs here
}

// volumes come in the order of what they tell: the most starved first. TuneD's
// arm runs on the last of them, and the unsafe one on gp3: each costs as much
// time as an arm that competes.
func volumes() []volume {
	return []volume{
		{name: "iops200", profile: "iops=200,mbps=100", warmup: 15 * time.Second, what: "a disk of 200 requests a second"},
		{name: "gp3", profile: "gp3", warmup: 15 * time.Second, what: "Amazon's gp3 as it comes, 3000 requests and 125 MiB a second", unsafe: true},
		{name: "p15", profile: "iops=1100,mbps=125", warmup: 15 * time.Second, what: "Azure's P15 after its burst, 1100 requests and 125 MiB a second"},
		{name: "native", warmup: filled, what: "the disk of this machine, without a limit", host: true},
	}
}

// cell is one experiment of the contest.
type cell struct {
	engine engine
	load   string // rw, tpcc
	volume volume
}

func (c cell) name() string { return c.engine.name + "-" + c.load + "-" + c.volume.name }

// cells are all experiments, most telling first.
func cells() (all []cell) {
	for _, v := range volumes() {
		for _, load := range []string{"rw", "tpcc"} {
			for _, e := range engines() {
				all = append(all, cell{e, load, v})
			}
		}
	}
	return all
}

// Times of a trial. A server that was just started reads its data, page by
// page, and nothing else, whatever its settings: through 200 requests a second
// that takes minutes, in which all arms are alike. So the caches are filled
// without the volume's limit.
const (
	filled   = 20 * time.Second
	measured = 30 * time.Second
	beside   = 35 * time.Second // the data are copied, the limit is measured, the server starts and stops
	budget   = 40 * time.Minute // of a cell
)
