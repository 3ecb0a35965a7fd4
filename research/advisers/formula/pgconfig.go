package formula

import "strconv"

// Pgconfig gives what api.pgconfig.org prints (pgconfig/api, memory as of
// July 2026; the sizes of the WAL as of the newest stored version, which is
// older). Its checkpoint_completion_target was 0.5 then and is "most of the
// interval" now: 0.9 is taken, the server's own default.
func Pgconfig(m Machine) Advice {
	connections := int64(100)
	if m.Connections > 0 {
		connections = int64(m.Connections)
	}
	memory := float64(m.Memory) / kib
	s := map[string]string{
		"max_connections":                 strconv.FormatInt(connections, 10),
		"shared_buffers":                  kB(m.Memory / kib / pick[int64](m.Type, 4, 4, 4, 4, 16)),
		"effective_cache_size":            kB(m.Memory / kib * 3 / 4),
		"work_mem":                        kB(pgconfigWorkMem(m, connections)),
		"maintenance_work_mem":            kB(int64(memory * 0.05)),
		"min_wal_size":                    "2GB",
		"max_wal_size":                    "3GB",
		"checkpoint_completion_target":    "0.9",
		"wal_buffers":                     "-1", // left to the server
		"random_page_cost":                "1.1",
		"effective_io_concurrency":        map[Disk]string{HDD: "2", SSD: "200", SAN: "300", NVMe: "200"}[m.Disk],
		"max_worker_processes":            strconv.Itoa(max(8, m.CPUs)),
		"max_parallel_workers":            strconv.Itoa(max(8, m.CPUs)),
		"max_parallel_workers_per_gather": "2",
	}
	if m.Disk == HDD {
		s["random_page_cost"] = "4"
	}
	if m.Type == Warehouse {
		s["max_parallel_workers_per_gather"] = strconv.Itoa(max(2, m.CPUs/2))
	}
	if m.Version >= 18 {
		s["io_workers"] = strconv.Itoa(pgconfigWorkers(m))
	}
	return Advice{Adviser: "pgconfig", Version: "pgconfig/api, July 2026", Settings: s}
}

// pgconfigWorkMem is in kB: the part of the memory that the profile gives to
// the connections, divided by their number.
func pgconfigWorkMem(m Machine, connections int64) int64 {
	part := pick(m.Type, 0.25, 0.35, 0.50, 0.20, 0.10)
	return int64(float64(m.Memory) * part / float64(connections) / kib)
}

// pgconfigWorkers are PostgreSQL 18's io_workers: a part of the processors by
// profile, a tenth more on spinning disks, at least 2 and no more than there
// are processors.
func pgconfigWorkers(m Machine) int {
	hundredths := pick(m.Type, 20, 30, 40, 25, 10)
	if m.Disk == HDD {
		hundredths += 10
	}
	return min(max((m.CPUs*hundredths+99)/100, 2), m.CPUs)
}
