package budget

import (
	"plumb/internal/product"
	"plumb/internal/stack"
)

// models says for each engine what its settings let it take. Settings come
// from the server; the constants below do not, so they are ranges.
var models = map[string]func(*model){
	product.MySQL:    (*model).mysql,
	product.Postgres: (*model).postgres,
	product.Mongo:    (*model).mongo,
}

const (
	kib = 1 << 10
	mib = 1 << 20
	gib = 1 << 30
)

// model collects the parts of one server.
type model struct {
	of      *stack.Thing
	parts   []Part
	unknown []stack.Knob
}

// need gives a setting that every version has; when it is not known the
// budget is not known either.
func (m *model) need(name string) int64 {
	if n, ok := m.of.Int(name); ok {
		return n
	}
	if f, known := m.of.Facts[name]; known && f.Value.IsAbsent() {
		return 0
	}
	m.unknown = append(m.unknown, stack.Knob{Of: m.of.Ref, Name: name})
	return 0
}

// may gives a setting only some versions have, otherwise 0.
func (m *model) may(name string) int64 { n, _ := m.of.Int(name); return n }

func (m *model) part(name, why string, expected, worst Range) {
	if worst.High > 0 {
		m.parts = append(m.parts, Part{Of: m.of.Ref, Name: name, Why: why, Expected: expected, Worst: worst})
	}
}

// scaled multiplies a size by a range of overheads.
func scaled(n int64, low, high float64) Range {
	return Range{int64(float64(n) * low), int64(float64(n) * high)}
}

// mysql follows the manual's list of buffers. What a connection really takes
// depends on its statements: an idle one keeps its stack and network buffer,
// a busy one may allocate each session buffer once or, for join buffers and
// several sorts, more often, and most statements need none of them. The
// factor over the buffer pool (control blocks, page hash, latches) is 3 to
// 10 %, less for MariaDB.
func (m *model) mysql() {
	pool := m.need("innodb_buffer_pool_size")
	m.part("buffer pool", "innodb_buffer_pool_size and 3 to 10 % to manage it",
		scaled(pool, 1.03, 1.10), scaled(pool, 1.03, 1.10))
	keys := m.need("key_buffer_size")
	shared := m.need("innodb_log_buffer_size") + m.may("query_cache_size") + m.may("aria_pagecache_buffer_size")
	m.part("shared buffers", "innodb_log_buffer_size, key_buffer_size where MyISAM is used, aria_pagecache_buffer_size, query_cache_size",
		upTo(shared+m.keysUsed(keys)), exactly(shared+keys))
	m.performanceSchema()
	tables := m.need("table_open_cache")
	m.part("open tables", "table_open_cache at 10 to 40 KiB each", upTo(tables*40*kib), Range{tables * 10 * kib, tables * 40 * kib})
	m.part("temporary tables", "temptable_max_ram", upTo(m.may("temptable_max_ram")), upTo(m.may("temptable_max_ram")))

	idle := m.need("net_buffer_length") + 64*kib // of the stack only the touched part is resident
	busy := m.need("thread_stack") + m.need("net_buffer_length") + m.need("sort_buffer_size") + m.need("join_buffer_size") +
		m.need("read_buffer_size") + m.need("read_rnd_buffer_size") + m.need("binlog_cache_size")
	seen, most := m.seenConnections("max_used_connections"), m.need("max_connections")
	m.part("connections", "at the most seen: idle to every session buffer once; at worst max_connections, all busy",
		Range{seen * idle, seen * busy}, Range{most * idle, most * busy})
}

// keysUsed gives what the key cache is expected to take. Its memory becomes
// resident as index blocks of MyISAM tables are read: without such tables it
// stays a reservation.
func (m *model) keysUsed(size int64) int64 {
	if n, known := m.of.Int("myisam_tables"); known && n == 0 {
		return 0
	}
	return size
}

func (m *model) performanceSchema() {
	on, known := m.of.Bool("performance_schema")
	switch {
	case !known:
		m.unknown = append(m.unknown, stack.Knob{Of: m.of.Ref, Name: "performance_schema"})
	case on:
		if n := m.may("performance_schema_memory"); n > 0 {
			m.part("performance_schema", "as it reports itself", exactly(n), exactly(n))
			return
		}
		m.part("performance_schema", "150 to 600 MiB when on", Range{150 * mib, 600 * mib}, Range{150 * mib, 600 * mib})
	}
}

// seenConnections gives the most connections seen; without a login that is
// not known, and then the expected sum is not known.
func (m *model) seenConnections(fact string) int64 { return max(m.need(fact), 1) }

// postgres: a backend keeps 3 to 10 MiB of its own (caches of catalogues and
// plans grow with use). work_mem is per sort or hash, and hashes may take
// hash_mem_multiplier times as much; one such node in every connection is
// the usual worst case, not a hard limit.
func (m *model) postgres() {
	buffers := m.need("shared_buffers")
	m.part("shared_buffers", "and 2 to 6 % to manage it", scaled(buffers, 1.02, 1.06), scaled(buffers, 1.02, 1.06))
	work := m.need("work_mem")
	hash := work
	if k, ok := m.of.Number("hash_mem_multiplier"); ok && k > 1 {
		hash = int64(float64(work) * k)
	}
	seen, most := m.seenConnections("connections_used"), m.need("max_connections")
	active := min(seen, max(m.may("connections_active"), 1))
	m.part("connections", "3 to 10 MiB each, and work_mem in the active ones; at worst one hash in every connection",
		Range{seen * 3 * mib, seen*10*mib + active*hash},
		Range{most * (3*mib + work), most * (10*mib + hash)})
	each := m.need("maintenance_work_mem")
	if n, ok := m.of.Int("autovacuum_work_mem"); ok && n > 0 {
		each = n
	}
	vacuum := m.need("autovacuum_max_workers") * min(each, m.vacuumCap())
	m.part("autovacuum", "autovacuum_max_workers at maintenance_work_mem", upTo(vacuum), upTo(vacuum))
}

// vacuumCap: before PostgreSQL 17 the list of dead tuples could not exceed
// 1 GiB whatever the setting.
func (m *model) vacuumCap() int64 {
	if v, ok := m.of.Int("version_num"); ok && v >= 170000 {
		return 1 << 62
	}
	return gib
}

// mongo: the WiredTiger cache, and about 1 MiB for each connection's thread.
// Sorts and aggregations come on top and are not bounded by one setting.
func (m *model) mongo() {
	cache := m.need("cache_size")
	m.part("WiredTiger cache", "the configured size and up to 20 % of fragmentation", scaled(cache, 1.0, 1.2), scaled(cache, 1.0, 1.2))
	seen, most := m.seenConnections("connections_current"), m.seenConnections("connections_current")+m.may("connections_available")
	m.part("connections", "up to 1 MiB each", upTo(seen*mib), upTo(min(most, 65536)*mib))
}
