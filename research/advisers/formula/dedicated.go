package formula

import "math"

// Dedicated gives what MySQL's innodb_dedicated_server chose before 8.0.30,
// under the names that MariaDB has. Its O_DIRECT_NO_FSYNC is left out: it is
// less safe than MariaDB's own default, O_DIRECT.
// Source: MySQL Reference Manual 8.0, 17.8.12; worklog 12300.
func Dedicated(m Machine) Advice {
	pool := dedicatedPool(m)
	return Advice{Adviser: "innodb_dedicated_server", Version: "MySQL 8.0.14 to 8.0.29",
		Settings: map[string]string{"innodb_buffer_pool_size": size(pool), "innodb_log_file_size": size(dedicatedRedo(pool))},
		Notes: []string{"innodb_dedicated_server's flush method O_DIRECT_NO_FSYNC is left out: MariaDB's own default, O_DIRECT, is safer. " +
			"Its redo log of several files is one file of the same size here; MySQL 8.4 comes to the same size by its processors."}}
}

// dedicatedPool is the size of the buffer pool in bytes.
func dedicatedPool(m Machine) int64 {
	switch {
	case m.Memory < gib:
		return 128 * mib
	case m.Memory <= 4*gib:
		return m.Memory / 2
	}
	return m.Memory / 4 * 3
}

// dedicatedRedo is the size of all redo files together before 8.0.30, from the
// size of the pool: files of 512 MiB to 2 GiB, and at least two of them.
func dedicatedRedo(pool int64) int64 {
	files := func(n float64) int64 { return max(int64(math.Round(n)), 2) }
	switch n := gibs(pool); {
	case n < 8:
		return 512 * mib * files(n)
	case n <= 128:
		return gib * files(0.75*n)
	}
	return 2 * gib * 64
}

// dedicatedCapacity is innodb_redo_log_capacity from 8.0.30 to 8.3, from the
// memory, where the pool is not set by hand.
func dedicatedCapacity(memory int64) int64 {
	switch n := gibs(memory); {
	case n < 2:
		return 100 * mib
	case n <= 4:
		return gib
	case n <= 10.66:
		return int64(math.Round(0.75*n)) * gib / 2
	case n <= 170.66:
		return int64(math.Round(0.5625*n)) * gib
	}
	return 128 * gib
}

// dedicatedByCPU is innodb_redo_log_capacity since 8.4: half a GiB for each
// logical processor, 16 GiB at most.
func dedicatedByCPU(cpus int) int64 { return min(int64(cpus)*gib/2, 16*gib) }
