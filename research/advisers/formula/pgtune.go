package formula

import "strconv"

// PGTune gives what pgtune.leopard.in.ua prints for Linux (le0pard/pgtune
// 7caef27, July 2026). It asks for everything a Machine has; Version may be 10
// to 18.
func PGTune(m Machine) Advice {
	t := pgtune{m, pick[int64](m.Type, 200, 300, 40, 100, 20)}
	if m.Connections > 0 {
		t.connections = int64(m.Connections)
	}
	buffers := t.sharedBuffers()
	minWAL, maxWAL := t.wal()
	s := map[string]string{
		"max_connections":              strconv.FormatInt(t.connections, 10),
		"shared_buffers":               kB(buffers),
		"effective_cache_size":         kB(t.effectiveCache()),
		"maintenance_work_mem":         kB(t.maintenance()),
		"checkpoint_completion_target": "0.9",
		"wal_buffers":                  kB(walBuffers(buffers)),
		"default_statistics_target":    "100",
		"random_page_cost":             t.randomPageCost(),
		"effective_io_concurrency":     map[Disk]string{HDD: "2", SSD: "200", SAN: "300", NVMe: "1000"}[m.Disk],
		"work_mem":                     kB(t.workMem()),
		"huge_pages":                   "off",
		"min_wal_size":                 kB(minWAL * kib),
		"max_wal_size":                 kB(maxWAL * kib),
	}
	if buffers >= 2*mib {
		s["huge_pages"] = "try"
	}
	if m.Type == Warehouse {
		s["default_statistics_target"] = "500"
	}
	if t.maintenance() >= 2*mib {
		s["autovacuum_work_mem"] = "2GB"
	}
	t.parallel(s)
	t.byVersion(s)
	return Advice{Adviser: "PGTune", Version: "le0pard/pgtune 7caef27, July 2026", Settings: s, Notes: t.notes()}
}

// pgtune computes in kB, as PGTune does, and drops fractions where it does.
type pgtune struct {
	Machine
	connections int64
}

// pick chooses by the kind of load.
func pick[T any](t Type, web, oltp, warehouse, mixed, desktop T) T {
	return map[Type]T{Web: web, OLTP: oltp, Warehouse: warehouse, Mixed: mixed, Desktop: desktop}[t]
}

func (t pgtune) memory() int64 { return t.Memory / kib }

func (t pgtune) sharedBuffers() int64 { return t.memory() / pick[int64](t.Type, 4, 4, 4, 4, 16) }

func (t pgtune) effectiveCache() int64 {
	if t.Type == Desktop {
		return t.memory() / 4
	}
	return t.memory() * 3 / 4
}

func (t pgtune) maintenance() int64 {
	return min(t.memory()/pick[int64](t.Type, 16, 16, 8, 16, 16), 8*mib)
}

// walBuffers follows the server's own rule for -1: 3 % of shared_buffers, at
// least 32 kB, at most a segment. Just below a segment it is rounded up to one.
func walBuffers(buffers int64) int64 {
	n := buffers * 3 / 100
	if n > 14*kib {
		return 16 * kib
	}
	return max(n, 32)
}

// wal gives min_wal_size and max_wal_size in MB.
func (t pgtune) wal() (least, most int64) {
	return pick[int64](t.Type, 1024, 2048, 4096, 1024, 100), pick[int64](t.Type, 4096, 8192, 16384, 4096, 2048)
}

// fits tells whether the person would say that the database is smaller than
// the memory, and larger whether it is larger. One that is not known is neither.
func (t pgtune) fits() bool   { return t.Data > 0 && t.Data < t.Memory }
func (t pgtune) larger() bool { return t.Data > t.Memory }

func (t pgtune) randomPageCost() string {
	if !t.fits() && (t.Disk == HDD || t.Type == Warehouse) {
		return "4"
	}
	return "1.1"
}

// workMem divides what shared_buffers leave by the connections and workers,
// three times each, and keeps to at least 4 MB since issue 113.
func (t pgtune) workMem() int64 {
	workers := int64(8)
	if t.CPUs >= 4 {
		workers = int64(t.CPUs)
	}
	n := float64(t.memory()-t.sharedBuffers()) / float64((t.connections+workers)*3)
	n /= pick(t.Type, 1.0, 1, 2, 2, 6)
	switch {
	case t.fits():
		n *= 1.3
	case t.larger():
		n *= 0.9
	}
	return max(int64(n), 4*kib)
}

// parallel sets nothing below four processors.
func (t pgtune) parallel(s map[string]string) {
	if t.CPUs < 4 {
		return
	}
	half := (t.CPUs + 1) / 2
	gather := half
	if t.Type != Warehouse {
		gather = min(half, 4)
	}
	s["max_worker_processes"], s["max_parallel_workers"] = strconv.Itoa(t.CPUs), strconv.Itoa(t.CPUs)
	s["max_parallel_workers_per_gather"] = strconv.Itoa(gather)
	if t.Version >= 11 {
		s["max_parallel_maintenance_workers"] = strconv.Itoa(min(half, 4))
	}
	switch {
	case t.CPUs >= 32:
		s["autovacuum_max_workers"] = "5"
	case t.CPUs >= 16:
		s["autovacuum_max_workers"] = "4"
	}
}

func (t pgtune) byVersion(s map[string]string) {
	if t.Version >= 12 && (t.Type == Web || t.Type == OLTP || t.Type == Mixed) {
		s["jit"] = "off"
	}
	s["wal_compression"] = "on"
	if t.Version >= 15 {
		s["wal_compression"] = "lz4"
	}
	if t.Version >= 18 {
		s["io_method"] = "io_uring"
	}
	if t.Type == Desktop {
		s["wal_level"], s["max_wal_senders"] = "minimal", "0"
	}
}

func (t pgtune) notes() []string {
	if t.Connections > 0 {
		return nil
	}
	return []string{"The number of connections was left open: PGTune takes " + strconv.FormatInt(t.connections, 10) + " for the type " + string(t.Type) + "."}
}
