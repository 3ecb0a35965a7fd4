package rehearse

import (
	"plumb/internal/advise"
	"plumb/internal/product"
	"plumb/internal/stack"
)

// kind is in what a rehearsal of one kind of servers differs from that of
// another.
type kind struct {
	dotted     bool              // a name with a dot is an extension's setting
	runtime    bool              // what was set at run time was set for the server, and not for a role
	plugins    bool              // a setting that the catalogue has not may be a plugin's
	options    map[string]string // what the option file calls a variable, where it has another name
	atCreation []string          // settings that count when the data is made, and that the lab can give to whatever makes it
	caches     map[string]int64  // shares of the server's memory, to the least that is sensible
	cache      string            // the one in which data are kept
	data       string            // fact: how much data it holds
	busy       string            // fact: how many sessions are at work
	page       float64           // bytes
	series     func(version []string) int
	log        func(d *draft, plan advise.Plan) int64 // what redo or WAL can take
	format     func(d *draft)                         // takes over what the data directory was made with, whoever chose it
	tunables   func(l dialLimits, has func(name string) bool) []Tunable
}

// kindOf gives the kinds of servers that can be rehearsed.
func kindOf(name string) kind {
	return map[string]kind{
		product.MySQL: {
			runtime:    true,
			plugins:    true,
			options:    map[string]string{"tx_isolation": "transaction_isolation"}, // MariaDB's variable before 11.1; the option was always called so
			atCreation: []string{"innodb_page_size", "innodb_data_file_path"},
			caches: map[string]int64{"innodb_buffer_pool_size": 24 << 20, "key_buffer_size": 1 << 20, "aria_pagecache_buffer_size": 1 << 20,
				"query_cache_size": 0},
			cache:    "innodb_buffer_pool_size",
			data:     "innodb_data_size",
			busy:     "threads_running",
			page:     16 << 10,
			series:   func([]string) int { return 2 },
			log:      (*draft).redoLog,
			format:   (*draft).formatMySQL,
			tunables: dialLimits.mysql,
		},
		product.Postgres: {
			dotted:     true,
			atCreation: []string{"data_checksums", "wal_segment_size"},
			caches:     map[string]int64{"shared_buffers": 8 << 20, "effective_cache_size": 8 << 20},
			cache:      "shared_buffers",
			data:       "data_size",
			busy:       "connections_active",
			page:       8 << 10,
			series:     postgresSeries,
			log:        func(d *draft, plan advise.Plan) int64 { return d.largest(plan, "max_wal_size") },
			format:     (*draft).formatPostgres,
			tunables:   func(l dialLimits, _ func(string) bool) []Tunable { return l.postgres() },
		},
	}[name]
}

// postgresSeries: since 10 one number names the series.
func postgresSeries(version []string) int {
	if len(version[0]) > 1 {
		return 1
	}
	return 2
}

func (d *draft) redoLog(plan advise.Plan) int64 {
	files := max(1, min(d.largest(plan, "innodb_log_files_in_group"), 100))
	return max(d.largest(plan, "innodb_redo_log_capacity"), files*min(d.largest(plan, "innodb_log_file_size"), 1<<42))
}

func (d *draft) formatMySQL() {
	if n, ok := d.server.Int("innodb_page_size"); ok && n != 16<<10 {
		d.create["innodb_page_size"] = d.written("innodb_page_size", stack.Int(n))
	}
}

func (d *draft) formatPostgres() {
	const checksumsByDefault = 180000 // initdb knows --no-data-checksums since then
	number, _ := d.server.Int("version_num")
	if on, ok := d.server.Bool("data_checksums"); ok && (on || number >= checksumsByDefault) {
		d.create["data_checksums"] = d.written("data_checksums", stack.Bool(on))
	}
	if n, ok := d.server.Int("wal_segment_size"); ok && n != 16<<20 {
		d.create["wal_segment_size"] = d.written("wal_segment_size", stack.Int(n))
	}
}
