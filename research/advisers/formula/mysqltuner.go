package formula

// MySQLTuner gives what MySQLTuner concludes for a MariaDB 10.11 that has its
// defaults: not a formula, but the fixed point of its advice, reached when it
// has nothing more to say. Each setting follows from one conclusion:
//
//   - innodb_buffer_pool_size: "(>= size of the data) if possible" (1.9 and 2.9).
//     Possible is what its own memory model of 2.9 allows: global buffers and
//     those of the sessions seen take at most 85 % of the memory.
//   - innodb_log_file_size: "total log files size equals 25 % of buffer pool size"
//     when it is not within 20 to 30 % (1.9; 2.9 means to say it too, and says
//     nothing on MariaDB because it takes 10.11 for a MySQL after 8.0.30).
//   - innodb_io_capacity: ">= 2000" on solid-state disks where it is 200 (2.9).
//   - innodb_flush_neighbors: 0 on solid-state disks (2.9).
//   - performance_schema: ON where it is off (1.9 and 2.9).
//
// Sources: MySQLTuner 1.9.9 as Debian 12 has it, and 2.9.1, 7d798ae of August
// 2026. It judges memory by what it is told with --forcemem: it does not look
// at control groups. Run on a loaded default MariaDB 10.11.19, 1.9.9 says the
// first, the second and the last of these, and ends with a division by zero
// (innodb_buffer_pool_chunk_size is 0 there) before it lists them.
func MySQLTuner(m Machine) Advice {
	pool := min(roundUp(m.Data, mib), tunerRoom(m))
	s := map[string]string{"performance_schema": "ON"}
	if pool > tunerDefaultPool {
		s["innodb_buffer_pool_size"] = size(pool)
	}
	if redo, says := tunerRedo(max(pool, tunerDefaultPool)); says {
		s["innodb_log_file_size"] = size(redo)
	}
	if m.Disk != HDD {
		s["innodb_io_capacity"], s["innodb_flush_neighbors"] = "2000", "0"
	}
	return Advice{Adviser: "MySQLTuner", Version: "MySQLTuner 1.9.9 and 2.9.1", Settings: s,
		Notes: []string{"MySQLTuner's pool is the size of the data, or what its rule of 85 % of the memory allows with the sessions of the load; " +
			"its redo log of 25 % of the pool is the default one where that is within 20 to 30 %."}}
}

// What MariaDB 10.11 has when nothing is set, in bytes.
const (
	tunerDefaultPool = 128 * mib
	tunerDefaultRedo = 96 * mib
	tunerGlobal      = (128 + 16 + 1 + 128) * mib                                                // key_buffer_size, innodb_log_buffer_size, query_cache_size, aria_pagecache_buffer_size
	tunerPerThread   = 128*kib + 256*kib + 2*mib + 292*kib + 256*kib + 32*kib + tunerMemoryTable // read, read_rnd, sort, thread_stack, join, binlog_cache
	tunerMemoryTable = 16 * mib                                                                  // the smaller of tmp_table_size and max_heap_table_size
)

// tunerRoom is the largest pool of which MySQLTuner 2.9 would not say that the
// memory reached is above 85 %.
func tunerRoom(m Machine) int64 {
	return (m.Memory*85/100 - tunerGlobal - int64(m.Sessions)*tunerPerThread) / mib * mib
}

// tunerRedo tells whether the redo log's part of the pool is worth a
// conclusion, and the size it then wants.
func tunerRedo(pool int64) (bytes int64, says bool) {
	percent := tunerDefaultRedo * 100 / pool
	return pool / 4, percent < 20 || percent > 30
}

func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }
