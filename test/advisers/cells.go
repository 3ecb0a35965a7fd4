package main

import (
	"cmp"
	"math"
	"slices"
	"time"

	"plumb/test/advisers/formula"
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

// machine is what an adviser is told. A person who has loop devices before
// them, or a cloud's volume, says SSD.
func machine(e engine) formula.Machine {
	return formula.Machine{Memory: memory, CPUs: cpus, Disk: formula.SSD, Type: formula.OLTP, Data: data, Sessions: threads + 1,
		Version: e.major, Flavour: e.flavour}
}

// engine is a database server of the contest.
type engine struct {
	name       string
	major      int    // PostgreSQL's, as installed where the formulas need it
	flavour    string // of MySQL
	page       int64  // bytes of one read at random
	defaults   string // what the default is called in notes
	warehouses int
	rowBytes   int64 // of the read-write load, with indexes, as measured
	houseBytes int64 // of a warehouse, likewise
}

func engines() []engine {
	return []engine{
		{name: "mariadb", flavour: "mariadb", page: 16 << 10, defaults: "a buffer pool of 128M and a redo log of 96M",
			warehouses: 6, rowBytes: 250, houseBytes: 82 << 20},
		{name: "postgres", major: 15, page: 8 << 10, defaults: "shared_buffers of 128MB and max_wal_size 1GB",
			warehouses: 5, rowBytes: 264, houseBytes: 100 << 20},
	}
}

// volume is what a cell's data lie on.
type volume struct {
	name, profile, what string
	iops                float64 // 0: no limit
	host                bool    // the arm that changes the machine runs here
	unsafe              bool    // the arm that is not crash-safe runs here
}

// volumes come in the order of what they tell: the most starved first. TuneD's
// arm runs on the last of them, and the unsafe one on gp3: each costs as much
// time as an arm that competes.
func volumes() []volume {
	return []volume{
		{name: "iops200", profile: "iops=200,mbps=100", iops: 200, what: "a disk of 200 requests a second"},
		{name: "gp3", profile: "gp3", iops: 3000, what: "Amazon's gp3 as it comes, 3000 requests and 125 MiB a second", unsafe: true},
		{name: "p15", profile: "iops=1100,mbps=125", iops: 1100, what: "Azure's P15 after its burst, 1100 requests and 125 MiB a second"},
		{name: "native", what: "the disk of this machine, without a limit", host: true},
	}
}

// cell is one experiment of the contest.
type cell struct {
	engine engine
	load   string // rw, tpcc
	volume volume
}

func (c cell) name() string { return c.engine.name + "-" + c.load + "-" + c.volume.name }

// cells are all experiments, most telling first, but last those that take
// hours: the others would wait for them.
func cells() (all []cell) {
	for _, v := range volumes() {
		for _, load := range []string{"rw", "tpcc"} {
			for _, e := range engines() {
				all = append(all, cell{e, load, v})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b cell) int { return cmp.Compare(a.hours(), b.hours()) })
	return all
}

// hours tells, as 1, of a cell whose caches take minutes to fill.
func (c cell) hours() int {
	if c.warmup() > longWarmup {
		return 1
	}
	return 0
}

// Times of a trial.
const (
	measured    = 20 * time.Second // of each trial
	leastWarmup = 15 * time.Second
	longWarmup  = 5 * time.Minute
	usualBudget = 40 * time.Minute
)

// warmup is as long as reading all the data once takes, page by page, with a
// tenth for what is written meanwhile. A server that was just started reads
// nothing else at first, whatever its settings: measured then, all arms would
// be alike.
func (c cell) warmup() time.Duration {
	if c.volume.iops == 0 {
		return leastWarmup
	}
	seconds := 1.1 * float64(data/c.engine.page) / c.volume.iops
	return max(leastWarmup, time.Duration(math.Ceil(seconds/5))*5*time.Second)
}
