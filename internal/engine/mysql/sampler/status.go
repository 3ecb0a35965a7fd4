package sampler

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"plumb/internal/engine/mysql"
	"plumb/internal/host"
	"plumb/internal/series"
)

// A reading is the first sum of counters that the server has all of. Which
// counters there are differs: MariaDB 10.11 counts no Innodb_rows_read, 10.8
// took Innodb_os_log_fsyncs away, MySQL has had Innodb_redo_log_*_lsn since 8.0.30.
type sums [][]string

func one(names ...string) sums { return sums{names} }

// counted says, for each reading, where it comes from.
var counted = map[string]sums{
	"uptime": one("uptime"), "threads_connected": one("threads_connected"), "threads_running": one("threads_running"),
	"max_used_connections": one("max_used_connections"), "connections_refused": one("connection_errors_max_connections"),
	"aborted_connects": one("aborted_connects"), "slow_queries": one("slow_queries"),
	"questions": one("questions"), "selects": one("com_select"), "sent_bytes": one("bytes_sent"), "received_bytes": one("bytes_received"),
	"commits": {{"com_commit"}}, "rollbacks": {{"com_rollback"}},
	"inserts":   one("com_insert", "com_insert_select", "com_replace", "com_replace_select", "com_load"),
	"updates":   one("com_update", "com_update_multi", "com_delete", "com_delete_multi"),
	"rows_read": {{"innodb_rows_read"}, {"handler_read_first", "handler_read_key", "handler_read_last", "handler_read_next", "handler_read_prev", "handler_read_rnd", "handler_read_rnd_next"}},
	"rows_changed": {{"innodb_rows_inserted", "innodb_rows_updated", "innodb_rows_deleted"},
		{"handler_write", "handler_update", "handler_delete"}},
	"tmp_tables": one("created_tmp_tables"), "tmp_disk_tables": one("created_tmp_disk_tables"),
	"binlog_cache_use": one("binlog_cache_use"), "binlog_cache_disk_use": one("binlog_cache_disk_use"),
	"buffer_pool_reads": one("innodb_buffer_pool_reads"), "buffer_pool_read_requests": one("innodb_buffer_pool_read_requests"),
	"buffer_pool_pages_flushed": one("innodb_buffer_pool_pages_flushed"), "wait_free": one("innodb_buffer_pool_wait_free"),
	"log_waits": one("innodb_log_waits"), "redo_written": one("innodb_os_log_written"), "redo_write_requests": one("innodb_log_write_requests"),
	"redo_fsyncs": one("innodb_os_log_fsyncs"), "redo_writes": one("innodb_log_writes"), "lsn": {{"innodb_lsn_current"}, {"innodb_redo_log_current_lsn"}},
	"data_reads": one("innodb_data_reads"), "data_writes": one("innodb_data_writes"), "data_fsyncs": one("innodb_data_fsyncs"),
	"pending_reads": one("innodb_data_pending_reads"), "pending_writes": one("innodb_data_pending_writes"),
	"pending_fsyncs": {{"innodb_data_pending_fsyncs", "innodb_os_log_pending_fsyncs"}, {"innodb_data_pending_fsyncs"}},
	"row_lock_waits": one("innodb_row_lock_waits"), "row_lock_ms": one("innodb_row_lock_time"),
	"row_lock_current_waits": one("innodb_row_lock_current_waits"), historyLength: one(historyCounter),
}

// derived are the counters from which more than a sum is made.
func derived() []string {
	return []string{"innodb_checkpoint_age", "innodb_checkpoint_max_age", "innodb_redo_log_current_lsn", "innodb_redo_log_checkpoint_lsn",
		"innodb_redo_log_capacity_resized", "innodb_buffer_pool_pages_free", "innodb_buffer_pool_pages_dirty", "innodb_buffer_pool_pages_total",
		"innodb_pages_written", threadsLost}
}

// threadsLost counts threads for which the performance schema had no room: who asks it
// for sessions is not told of them, and nothing else in it says so.
const threadsLost = "performance_schema_thread_instances_lost"

// statusQuery asks for the counters that are used: all are five hundred lines.
var statusQuery = askCounted()

func askCounted() string {
	names := map[string]bool{}
	for _, s := range counted {
		for _, sum := range s {
			for _, n := range sum {
				names[n] = true
			}
		}
	}
	for _, n := range derived() {
		names[n] = true
	}
	return "SHOW GLOBAL STATUS WHERE Variable_name IN ('" + strings.Join(slices.Sorted(maps.Keys(names)), "', '") + "')"
}

// status reads the server's counters.
func (v *Server) status(ctx context.Context, h host.Reader, b *series.Batch) error {
	t, err := v.learn(ctx, h)
	if err != nil {
		return err
	}
	rows, err := v.Ask(ctx, h, statusQuery)
	if err != nil {
		return err
	}
	status := mysql.Pairs(rows)
	if n, err := strconv.ParseFloat(status[threadsLost], 64); err == nil && n > 0 {
		v.lost.Store(true)
	}
	_, told := status[historyCounter]
	v.historyUntold.Store(!told)
	readings(status, t.page, func(name string, value float64) { b.Set(v.Ref, name, value) })
	return nil
}

// readings makes readings of status counters. What the server does not count
// is not given.
func readings(status map[string]string, page float64, set func(name string, value float64)) {
	at := func(name string) (float64, bool) {
		n, err := strconv.ParseFloat(status[name], 64)
		return n, err == nil && n >= 0 && n < 1<<63
	}
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		if n, ok := first(counted[name], at); ok {
			set(name, n)
		}
	}
	pool(at, page, set)
	checkpoint(at, set)
}

func first(s sums, at func(string) (float64, bool)) (float64, bool) {
	for _, names := range s {
		total, all := 0.0, true
		for _, name := range names {
			n, ok := at(name)
			total, all = total+n, all && ok
		}
		if all {
			return total, true
		}
	}
	return 0, false
}

// pool gives what the server counts in pages.
func pool(at func(string) (float64, bool), page float64, set func(string, float64)) {
	dirty, ok := at("innodb_buffer_pool_pages_dirty")
	if total, has := at("innodb_buffer_pool_pages_total"); ok && has && total > 0 {
		set("buffer_pool_dirty_ratio", dirty/total)
	}
	if page <= 0 {
		return
	}
	for _, c := range [][2]string{{"buffer_pool_free", "innodb_buffer_pool_pages_free"},
		{"buffer_pool_dirty", "innodb_buffer_pool_pages_dirty"}, {"page_bytes_written", "innodb_pages_written"}} {
		if n, ok := at(c[1]); ok {
			set(c[0], n*page)
		}
	}
}

// checkpoint gives the checkpoint age, and the age at which writers must wait.
func checkpoint(at func(string) (float64, bool), set func(string, float64)) {
	age, ok := at("innodb_checkpoint_age") // MariaDB since 10.5, Percona Server
	limit, _ := at("innodb_checkpoint_max_age")
	if !ok {
		now, has := at("innodb_redo_log_current_lsn") // MySQL since 8.0.30
		done, has2 := at("innodb_redo_log_checkpoint_lsn")
		capacity, _ := at("innodb_redo_log_capacity_resized")
		if !has || !has2 || now < done {
			return
		}
		age, limit = now-done, mysql.SyncFlushShare*capacity
	}
	set("checkpoint_age", age)
	if limit > 0 {
		set("checkpoint_age_limit", limit)
		set("checkpoint_age_ratio", age/limit)
	}
}
