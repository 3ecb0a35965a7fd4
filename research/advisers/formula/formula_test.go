package formula

import (
	"fmt"
	"testing"
)

// host is a machine of the tables that were computed with the advisers' own
// programs.
func host(gigabytes int64, cpus int, t Type) Machine {
	return Machine{Memory: gigabytes * gib, CPUs: cpus, Disk: SSD, Type: t, Version: 17}
}

// TestPGTune holds against what PGTune's own code gives, run with node.
func TestPGTune(t *testing.T) {
	for _, c := range []struct {
		gigabytes            int64
		cpus                 int
		buffers              int64 // MB
		web, oltp, warehouse int64 // work_mem, kB
		maintenance, largest int64 // MB: of web and oltp, of dw
	}{
		{2, 2, 512, 4096, 4096, 5461, 128, 256},
		{8, 4, 2048, 10280, 6898, 23831, 512, 1024},
		{32, 8, 8192, 40329, 27235, 87381, 2048, 4096},
		{64, 16, 16384, 77672, 53092, 149796, 4096, 8192},
		{256, 64, 65536, 254200, 184365, 322638, 8192, 8192},
	} {
		for kind, work := range map[Type]int64{Web: c.web, OLTP: c.oltp, Warehouse: c.warehouse} {
			t.Run(fmt.Sprintf("%dGB_%s", c.gigabytes, kind), func(t *testing.T) {
				maintenance := c.maintenance
				if kind == Warehouse {
					maintenance = c.largest
				}
				wants(t, PGTune(host(c.gigabytes, c.cpus, kind)), "shared_buffers", kB(c.buffers*kib), "work_mem", kB(work),
					"maintenance_work_mem", kB(maintenance*kib), "effective_cache_size", kB(3*c.buffers*kib))
			})
		}
	}
}

// TestPGTuneBefore113 gives the numbers that were published before PGTune's
// issue 113, from the same parts: it tells that the table's columns are read right.
func TestPGTuneBefore113(t *testing.T) {
	for _, c := range []struct {
		gigabytes            int64
		cpus                 int
		web, oltp, warehouse int64
	}{
		{2, 2, 1310, 873, 3276}, {8, 4, 5242, 3495, 13107}, {32, 8, 10485, 6990, 26214}, {64, 16, 20971, 13981, 26214}, {256, 64, 83886, 55924, 26214},
	} {
		for kind, want := range map[Type]int64{Web: c.web, OLTP: c.oltp, Warehouse: c.warehouse} {
			m := pgtune{host(c.gigabytes, c.cpus, kind), pick[int64](kind, 200, 300, 40, 100, 20)}
			if got := before113(m); got != want {
				t.Errorf("%d GB, %s: %d kB, want %d", c.gigabytes, kind, got, want)
			}
		}
	}
}

// before113 divides by the workers that one query may have.
func before113(t pgtune) int64 {
	gather := int64(2) // the server's default
	if t.CPUs >= 4 {
		gather = int64(t.CPUs+1) / 2
		if t.Type != Warehouse {
			gather = min(gather, 4)
		}
	}
	n := (t.memory() - t.sharedBuffers()) / (t.connections * 3) / gather
	if t.Type == Warehouse {
		n = (t.memory() - t.sharedBuffers()) / (t.connections * 3) / 2 / gather
	}
	return n
}

func TestPGTuneConnections(t *testing.T) {
	m := host(16, 4, Web)
	m.Connections = 100
	wants(t, PGTune(m), "work_mem", "40329kB", "max_connections", "100")
	m = host(2, 2, Web)
	m.Connections = 1000
	wants(t, PGTune(m), "work_mem", "4MB") // 1000 of them are more than the machine has
}

func TestPGTuneSizesOfData(t *testing.T) {
	m := host(32, 8, Web)
	m.Data = 8 * gib
	wants(t, PGTune(m), "work_mem", "52428kB", "random_page_cost", "1.1") // 1.3 times
	m.Data = 80 * gib
	wants(t, PGTune(m), "work_mem", "36296kB") // 0.9 times
	m.Disk = HDD
	wants(t, PGTune(m), "random_page_cost", "4", "effective_io_concurrency", "2")
}

// TestPGTuneHere holds what the contest's machine gets.
func TestPGTuneHere(t *testing.T) {
	a := PGTune(Machine{Memory: gib, CPUs: 2, Disk: SSD, Type: OLTP, Data: gib / 2, Version: 15})
	wants(t, a, "shared_buffers", "256MB", "effective_cache_size", "768MB", "maintenance_work_mem", "64MB", "work_mem", "4MB",
		"wal_buffers", "7864kB", "min_wal_size", "2GB", "max_wal_size", "8GB", "huge_pages", "off", "jit", "off", "wal_compression", "lz4", "max_connections", "300")
	for _, absent := range []string{"max_worker_processes", "autovacuum_work_mem", "io_method"} {
		if v, there := a.Settings[absent]; there {
			t.Errorf("%s = %s", absent, v)
		}
	}
}

func TestPGTuneParallel(t *testing.T) {
	wants(t, PGTune(host(64, 16, OLTP)), "max_worker_processes", "16", "max_parallel_workers", "16", "max_parallel_workers_per_gather", "4",
		"max_parallel_maintenance_workers", "4", "autovacuum_max_workers", "4", "huge_pages", "try", "autovacuum_work_mem", "2GB", "wal_buffers", "16MB")
	wants(t, PGTune(host(256, 64, Warehouse)), "max_parallel_workers_per_gather", "32", "autovacuum_max_workers", "5", "default_statistics_target", "500")
	m := host(32, 8, OLTP)
	m.Version = 18
	wants(t, PGTune(m), "io_method", "io_uring")
}

func TestTimescaleDB(t *testing.T) {
	for _, c := range []struct {
		gigabytes int64
		cpus      int
		work      string
	}{{8, 4, "5242kB"}, {32, 8, "10485kB"}, {64, 16, "10485kB"}, {256, 64, "10485kB"}} {
		m := host(c.gigabytes, c.cpus, OLTP)
		wants(t, TimescaleDB(m), "work_mem", c.work, "shared_buffers", kB(c.gigabytes*mib/4), "max_connections", "100")
	}
	wants(t, TimescaleDB(host(64, 16, OLTP)), "maintenance_work_mem", "2047MB", "wal_buffers", "16MB", "max_locks_per_transaction", "1024",
		"max_worker_processes", "35", "max_parallel_workers_per_gather", "8")
	wants(t, TimescaleDB(host(1, 2, OLTP)), "work_mem", "5242kB", "maintenance_work_mem", "128MB", "wal_buffers", "7864kB", "max_wal_size", "1GB",
		"min_wal_size", "512MB", "max_connections", "25", "max_parallel_workers_per_gather", "1")
	if v, there := TimescaleDB(host(1, 1, OLTP)).Settings["max_parallel_workers"]; there {
		t.Errorf("with one processor max_parallel_workers = %s", v)
	}
}

func TestPgconfig(t *testing.T) {
	wants(t, Pgconfig(Machine{Memory: gib, CPUs: 2, Disk: SSD, Type: OLTP, Version: 15}), "shared_buffers", "256MB", "effective_cache_size", "768MB",
		"work_mem", "3670kB", "maintenance_work_mem", "52428kB", "max_connections", "100", "random_page_cost", "1.1", "max_worker_processes", "8")
	for kind, want := range map[Type]string{Web: "41943kB", OLTP: "58720kB", Warehouse: "83886kB", Mixed: "33554kB", Desktop: "16777kB"} {
		wants(t, Pgconfig(host(16, 8, kind)), "work_mem", want)
	}
	for _, c := range []struct {
		kind Type
		disk Disk
		want string
	}{{Desktop, SSD, "2"}, {Web, SSD, "4"}, {Mixed, SSD, "4"}, {OLTP, SSD, "5"}, {Warehouse, SSD, "7"}, {OLTP, HDD, "7"}} {
		m := host(16, 16, c.kind)
		m.Version, m.Disk = 18, c.disk
		wants(t, Pgconfig(m), "io_workers", c.want)
	}
	wants(t, Pgconfig(host(16, 16, Warehouse)), "max_parallel_workers_per_gather", "8", "max_worker_processes", "16")
}

// TestDedicated holds the examples of the manual's three formulas.
func TestDedicated(t *testing.T) {
	for _, c := range []struct {
		memory                       int64 // GiB
		cpus                         int
		pool, before, capacity, by84 int64 // GiB
	}{
		{8, 4, 6, 3, 3, 2}, {32, 8, 24, 18, 18, 4}, {64, 16, 48, 36, 36, 8}, {256, 64, 192, 128, 128, 16},
	} {
		m := host(c.memory, c.cpus, OLTP)
		pool := dedicatedPool(m)
		for what, pair := range map[string][2]int64{
			"pool": {pool, c.pool}, "redo by pool": {dedicatedRedo(pool), c.before}, "redo by memory": {dedicatedCapacity(m.Memory), c.capacity},
			"redo by processors": {dedicatedByCPU(c.cpus), c.by84},
		} {
			if pair[0] != pair[1]*gib {
				t.Errorf("%d GB: %s is %d, want %d GiB", c.memory, what, pair[0], pair[1])
			}
		}
	}
	wants(t, Dedicated(host(1, 2, OLTP)), "innodb_buffer_pool_size", "512M", "innodb_log_file_size", "1G")
	if got := dedicatedCapacity(gib); got != 100*mib {
		t.Errorf("1 GB: %d by memory", got)
	}
	if got := dedicatedPool(Machine{Memory: gib - 1}); got != 128*mib {
		t.Errorf("below 1 GB: a pool of %d", got)
	}
}

func TestMySQLTuner(t *testing.T) {
	here := Machine{Memory: gib, CPUs: 2, Disk: SSD, Data: gib / 2, Sessions: 9}
	wants(t, MySQLTuner(here), "innodb_buffer_pool_size", "426M", "innodb_io_capacity", "2000", "innodb_flush_neighbors", "0", "performance_schema", "ON")
	if v, there := MySQLTuner(here).Settings["innodb_log_file_size"]; there { // 96M are 22 % of it
		t.Errorf("innodb_log_file_size = %s", v)
	}
	here.Memory = 4 * gib
	wants(t, MySQLTuner(here), "innodb_buffer_pool_size", "512M", "innodb_log_file_size", "128M")
	here.Disk, here.Data = HDD, 64*mib
	a := MySQLTuner(here)
	wants(t, a, "innodb_log_file_size", "32M") // it shrinks what is 75 % of the pool
	if len(a.Settings) != 2 {
		t.Errorf("%v", a.Settings)
	}
}

func TestByHand(t *testing.T) {
	m := Machine{Memory: gib, CPUs: 2, Disk: SSD}
	wants(t, PostgresByHand(m), "shared_buffers", "768MB", "effective_cache_size", "800MB", "maintenance_work_mem", "8MB", "fsync", "on")
	wants(t, PostgresByHand(Machine{Memory: pg01Memory}), "shared_buffers", "192GB", "effective_cache_size", "200GB", "maintenance_work_mem", "2GB")
	wants(t, MariaDBByHand(m), "innodb_buffer_pool_size", "832M")
	for _, a := range []Advice{PostgresUnsafe(m), MariaDBUnsafe(m)} {
		if !a.Unsafe {
			t.Errorf("%v is said to be safe", a.Settings)
		}
	}
	wants(t, PostgresUnsafe(m), "fsync", "off", "shared_buffers", "768MB")
}

func wants(t *testing.T, a Advice, pairs ...string) {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := a.Settings[pairs[i]]; got != pairs[i+1] {
			t.Errorf("%s: %s = %q, want %q", a.Adviser, pairs[i], got, pairs[i+1])
		}
	}
}
