package private

import (
	"math"
	"slices"
	"strconv"
	"strings"

	engine "plumb/internal/engine/mysql"
)

// Same implements lab.Engine: it compares as the server reads its option file.
// A value that the server rounds, as its manual says it does, is the same; one
// that it cut to its range, or chose otherwise, is not.
func (mysqlEngine) Same(setting, asked, effective string) bool {
	asked, effective = strings.TrimSpace(asked), strings.TrimSpace(effective)
	if strings.EqualFold(asked, effective) {
		return true
	}
	switch key := mysqlName(setting); {
	case key == "log_bin":
		on, word := truth(effective)
		return word && on == binlog(asked)
	case key == "sql_mode" || key == "old_mode":
		return sameModes(asked, effective)
	case key == "optimizer_switch":
		return holds(names(effective), names(asked))
	case strings.HasPrefix(key, "character_set_") || strings.HasPrefix(key, "collation_"):
		return fullCharset(asked) == fullCharset(effective)
	default:
		return sameScalar(key, asked, effective)
	}
}

// sameScalar compares numbers and words.
func sameScalar(key, asked, effective string) bool {
	want, isNumber := number(asked)
	have, isToo := number(effective)
	if isNumber && isToo {
		return want == have || rounded(key, want, have) || want == -1 && sizesItself(key)
	}
	if a, word := truth(asked); word {
		b, word := truth(effective)
		return word && a == b
	}
	return sameWord(asked) == sameWord(effective)
}

// sameWord brings lists of words and spellings of one word together: "READ
// COMMITTED" is "READ-COMMITTED".
func sameWord(text string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '-' || r == '_' }), " "))
}

// rounded tells whether the server makes have of want by the rounding that its
// manual tells of.
func rounded(key string, want, have float64) bool {
	if key == "innodb_buffer_pool_size" {
		return poolRounded(want, have)
	}
	step := steps(key)
	return step > 0 && have > 0 && have == math.Floor(want/step)*step
}

// poolRounded knows that a buffer pool is made up of chunks, 128 MB each unless
// said otherwise, in each instance. There are 8 instances at most by default, in
// pools from 1 GB; below it there is one. A chunk is no larger than the pool.
func poolRounded(want, have float64) bool {
	const chunk = 128 << 20
	most := float64(chunk)
	if want >= 1<<30 {
		most = 8 * chunk
	}
	return have > want && have-want < most && math.Mod(have, 1<<20) == 0
}

// steps gives the multiples down to which the server rounds a size; 0 when it
// rounds none.
func steps(key string) float64 {
	switch key {
	case "max_allowed_packet", "slave_max_allowed_packet", "replica_max_allowed_packet", "net_buffer_length", "thread_stack", "query_cache_size",
		"query_prealloc_size", "query_alloc_block_size", "transaction_prealloc_size", "transaction_alloc_block_size", "range_alloc_block_size",
		"max_heap_table_size", "innodb_sort_buffer_size":
		return 1 << 10
	case "join_buffer_size":
		return 128
	case "tmp_table_size": // of MariaDB; MySQL takes any
		return 16 << 10
	case "key_buffer_size", "read_buffer_size", "binlog_cache_size", "binlog_stmt_cache_size", "max_binlog_size", "max_binlog_cache_size",
		"max_binlog_stmt_cache_size", "max_relay_log_size", "innodb_log_buffer_size", "innodb_log_file_size", "aria_pagecache_buffer_size":
		return 4 << 10
	case "innodb_redo_log_capacity":
		return 1 << 20
	}
	return 0
}

// sizesItself knows the settings that -1 leaves to the server, which shows what
// it chose.
func sizesItself(key string) bool {
	return slices.Contains([]string{"back_log", "host_cache_size", "thread_cache_size", "table_definition_cache", "innodb_open_files",
		"innodb_log_spin_cpu_abs_lwm", "performance_schema_max_table_instances"}, key) || strings.HasPrefix(key, "performance_schema_")
}

// sameModes compares lists of modes. One like TRADITIONAL stands for several,
// which the server shows besides it.
func sameModes(asked, effective string) bool {
	want, have := names(asked), names(effective)
	if !holds(have, want) {
		return false
	}
	combined := []string{"ansi", "traditional", "oracle", "mssql", "db2", "postgresql", "maxdb", "mysql323", "mysql40"}
	return len(have) == len(want) || slices.ContainsFunc(want, func(m string) bool { return slices.Contains(combined, m) })
}

// names splits a list, in lower case, each name once.
func names(list string) []string {
	var out []string
	for name := range strings.SplitSeq(strings.ToLower(list), ",") {
		if name = strings.TrimSpace(name); name != "" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// holds tells whether a list has every name of another.
func holds(all, some []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(all, name) })
}

// fullCharset gives utf8, which servers show as utf8mb3, that name.
func fullCharset(name string) string {
	name = strings.ToLower(name)
	if name == "utf8" || strings.HasPrefix(name, "utf8_") {
		return "utf8mb3" + name[len("utf8"):]
	}
	return name
}

// truth reads the words for on and off.
func truth(text string) (on, word bool) {
	on, word = engine.Truth(text)
	return on, word && strings.TrimSpace(text) != ""
}

// number reads a number with the suffixes of option files: K, M, G, T, P, E.
func number(text string) (float64, bool) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > 64 {
		return 0, false
	}
	factor := 1.0
	if i := strings.IndexByte("KMGTPE", text[len(text)-1]&^0x20); i >= 0 {
		factor = math.Ldexp(1, 10*(i+1))
		text = text[:len(text)-1]
	}
	if strings.Trim(text, "0123456789.+-") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(text, 64)
	return n * factor, err == nil && !math.IsInf(n*factor, 0)
}
