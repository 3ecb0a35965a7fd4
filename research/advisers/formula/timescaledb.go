package formula

import (
	"math"
	"strconv"
)

// TimescaleDB gives what timescaledb-tune writes on Linux for its default
// profile (timescale/timescaledb-tune 154501b: the version that chooses
// max_connections by memory; an older one set default_statistics_target 500
// and effective_io_concurrency 200). It asks for memory, processors and
// connections.
func TimescaleDB(m Machine) Advice {
	connections := timescaleConnections(m)
	wal := int64(mib) // kB: 1 GB where the size of the WAL's disk is not told
	s := map[string]string{
		"shared_buffers":               kB(m.Memory / kib / 4),
		"effective_cache_size":         kB(m.Memory / kib * 3 / 4),
		"maintenance_work_mem":         kB(min(int64(gibs(m.Memory)*128*kib), 2047*kib)),
		"work_mem":                     kB(timescaleWorkMem(m, connections)),
		"wal_buffers":                  "16MB",
		"max_wal_size":                 kB(wal),
		"min_wal_size":                 kB(wal / 2),
		"default_statistics_target":    "100",
		"random_page_cost":             "1.1",
		"checkpoint_completion_target": "0.9",
		"max_connections":              strconv.Itoa(connections),
		"max_locks_per_transaction":    timescaleLocks(m),
		"autovacuum_max_workers":       "10",
		"autovacuum_naptime":           "10",
		"effective_io_concurrency":     "256",
	}
	if m.Version < 13 {
		s["effective_io_concurrency"] = "200"
	}
	if m.Memory < 2*gib {
		s["wal_buffers"] = kB(int64(gibs(m.Memory) * 7864))
	}
	if m.CPUs > 1 {
		s["max_worker_processes"] = strconv.Itoa(3 + 16 + m.CPUs)
		s["max_parallel_workers"] = strconv.Itoa(m.CPUs)
		s["max_parallel_workers_per_gather"] = strconv.FormatInt(timescaleHalf(m), 10)
	}
	return Advice{Adviser: "timescaledb-tune", Version: "timescale/timescaledb-tune 154501b", Settings: s,
		Notes: []string{"timescaledb-tune's timescaledb.max_background_workers and shared_preload_libraries are left out: the extension is not there."}}
}

// timescaleConnections is a step function of the memory.
func timescaleConnections(m Machine) int {
	switch {
	case m.Connections > 0:
		return m.Connections
	case m.Memory <= 2*gib:
		return 25
	case m.Memory <= 4*gib:
		return 50
	case m.Memory <= 6*gib:
		return 75
	}
	return 100
}

func timescaleHalf(m Machine) int64 { return int64(math.Round(float64(m.CPUs) / 2)) }

// timescaleWorkMem is in kB: 128 MB for each GB of memory, divided by the
// connections and by half the processors.
func timescaleWorkMem(m Machine, connections int) int64 {
	return int64(gibs(m.Memory) * (128 * kib / float64(connections)) / float64(max(timescaleHalf(m), 1)))
}

func timescaleLocks(m Machine) string {
	switch {
	case m.Memory >= 32*gib:
		return "1024"
	case m.Memory >= 16*gib:
		return "512"
	case m.Memory >= 8*gib:
		return "256"
	}
	return "128"
}
