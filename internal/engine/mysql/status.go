package mysql

import (
	"math"
	"strconv"

	"plumb/internal/stack"
)

const statusQuery = "SHOW GLOBAL STATUS"

// serverStatus reads the status counters and what is derived from them.
func (l *look) serverStatus() {
	rows, ok := l.query(statusQuery, "uptime", "max_used_connections", "threads_*", "buffer_pool_*", "checkpoint_*",
		"redo_written*", "history_list_length", "log_waits*", "wait_free*", "tmp_*", "galera_*", "*_per_second", "inserts", "updates")
	if !ok {
		return
	}
	l.status = Pairs(rows)
	l.counters()
	l.changes()
	l.rates()
	l.bufferPool()
	l.redo()
	l.history()
	l.galera()
}

// stat gives a status counter; ok is false when this server has none.
func (l *look) stat(name string) (int64, bool) {
	text, ok := l.status[name]
	if !ok {
		return 0, false
	}
	return whole(text)
}

// each sets facts that are made of one status counter each. One that this
// version does not have is absent, or else not known.
func (l *look) each(facts map[string]string, absent bool, of func(n int64) stack.Value) {
	for fact, name := range facts {
		if n, ok := l.stat(name); ok {
			l.t.Set(fact, of(n), statusQuery)
		} else if absent {
			l.t.SetAbsent(fact, statusQuery)
		}
	}
}

// counters sets the facts that are one status counter each.
func (l *look) counters() {
	l.each(map[string]string{
		"uptime": "uptime", "max_used_connections": "max_used_connections", "threads_connected": "threads_connected",
		"threads_running": "threads_running", "connections_refused": "connection_errors_max_connections",
		"buffer_pool_reads": "innodb_buffer_pool_reads", "wait_free": "innodb_buffer_pool_wait_free",
		"log_waits": "innodb_log_waits", "tmp_tables": "created_tmp_tables", "tmp_disk_tables": "created_tmp_disk_tables",
		"open_tables": "open_tables", "binlog_cache_disk_use": "binlog_cache_disk_use", "binlog_cache_use": "binlog_cache_use",
		"query_cache_lowmem_prunes": "qcache_lowmem_prunes", "query_cache_hits": "qcache_hits",
		"query_cache_inserts": "qcache_inserts", "slow_queries": "slow_queries", "aborted_connects": "aborted_connects",
	}, true, stack.Int)
	if at := l.status["max_used_connections_time"]; at != "" {
		l.t.Set("max_used_connections_time", stack.Text(at), statusQuery)
	} else {
		l.t.SetAbsent("max_used_connections_time", statusQuery)
	}
}

// changes counts the statements that add rows, and those that change rows that
// are there: what a load of new data does is told from other work by them.
func (l *look) changes() {
	for fact, names := range map[string][]string{
		"inserts": {"com_insert", "com_insert_select", "com_replace", "com_replace_select", "com_load"},
		"updates": {"com_update", "com_update_multi", "com_delete", "com_delete_multi"},
	} {
		sum, all := int64(0), true
		for _, name := range names {
			n, ok := l.stat(name)
			sum, all = sum+n, all && ok
		}
		if all {
			l.t.Set(fact, stack.Int(sum), statusQuery)
		}
	}
}

// rates sets counters per second, or per hour, of uptime.
func (l *look) rates() {
	uptime, ok := l.stat("uptime")
	if !ok || uptime < 1 {
		return
	}
	per := func(seconds float64) func(int64) stack.Value {
		return func(n int64) stack.Value { return stack.Float(rounded(float64(n) * seconds / float64(uptime))) }
	}
	l.each(map[string]string{
		"queries_per_second": "questions", "commits_per_second": "com_commit",
		"buffer_pool_reads_per_second": "innodb_buffer_pool_reads", "pages_written_per_second": "innodb_pages_written",
		"data_fsyncs_per_second": "innodb_data_fsyncs", "row_lock_waits_per_second": "innodb_row_lock_waits",
		"tmp_disk_tables_per_second": "created_tmp_disk_tables", "opened_tables_per_second": "opened_tables",
		"table_cache_overflows_per_second": "table_open_cache_overflows",
	}, true, per(1))
	l.each(map[string]string{"wait_free_per_hour": "innodb_buffer_pool_wait_free", "log_waits_per_hour": "innodb_log_waits",
		"key_writes_per_hour": "key_write_requests", "connections_refused_per_hour": "connection_errors_max_connections"}, false, per(3600))
	l.ratio("tmp_disk_ratio", "created_tmp_disk_tables", "created_tmp_tables")
	if n, ok := l.stat("innodb_pages_written"); ok {
		if size, ok := whole(l.variables["innodb_page_size"]); ok {
			l.t.Set("page_bytes_written", stack.Int(n*size), statusQuery)
		}
	}
}

// ratio sets part/whole, if there is a whole.
func (l *look) ratio(fact, part, of string) {
	a, ok := l.stat(part)
	b, ok2 := l.stat(of)
	if ok && ok2 && b > 0 {
		l.t.Set(fact, stack.Float(rounded(float64(a)/float64(b))), statusQuery)
	}
}

// rounded keeps six significant digits: more is noise in a report.
func rounded(f float64) float64 {
	if f == 0 {
		return 0
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 6, 64), 64)
	if err != nil || math.IsInf(r, 0) {
		return f
	}
	return r
}

func (l *look) bufferPool() {
	requests, ok := l.stat("innodb_buffer_pool_read_requests")
	reads, ok2 := l.stat("innodb_buffer_pool_reads")
	if ok && ok2 && requests > 0 {
		l.t.Set("buffer_pool_hit_rate", stack.Float(rounded(1-float64(reads)/float64(requests))), statusQuery)
	}
	size, ok := whole(l.variables["innodb_page_size"])
	if !ok {
		return
	}
	l.each(map[string]string{"buffer_pool_free": "innodb_buffer_pool_pages_free", "buffer_pool_dirty": "innodb_buffer_pool_pages_dirty"}, false,
		func(n int64) stack.Value { return stack.Int(n * size) })
	l.ratio("buffer_pool_dirty_ratio", "innodb_buffer_pool_pages_dirty", "innodb_buffer_pool_pages_total")
}

// history sets the purge backlog. MySQL tells it only in the metrics.
func (l *look) history() {
	if n, ok := l.stat("innodb_history_list_length"); ok {
		l.t.Set("history_list_length", stack.Int(n), statusQuery)
		return
	}
	const q = "SELECT NAME, COUNT FROM information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len' AND STATUS = 'enabled'"
	rows, ok := l.query(q, "history_list_length")
	if !ok {
		return
	}
	if n, ok := whole(Pairs(rows)["trx_rseg_history_len"]); ok {
		l.t.Set("history_list_length", stack.Int(n), "information_schema.INNODB_METRICS")
		return
	}
	l.fromInnoDBStatus()
}
