package rehearse

import (
	"embed"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"plumb/internal/lab/experiment"
	"plumb/internal/product"
)

// A private server must not have all that the real one has: not its paths and
// addresses, nor what reaches other servers, nor what needs files, plugins or
// keys that are not there. The lists in exclusions say what is kept apart, by
// engine. What bears on speed has a reason, which is told; the rest is left out in
// silence. What bears on durability is never there: sync_binlog, the binary log
// itself, innodb_flush_log_at_trx_commit, the doublewrite buffer, fsync,
// synchronous_commit and full_page_writes are as they are on the server.

//go:embed exclusions
var exclusionLists embed.FS

// exclusion is a pattern for names of such a list.
type exclusion struct {
	name string
	says string // why, where it can matter for speed
}

// exclusions are the lists by kind of server.
var exclusions = func() map[string][]exclusion {
	all := map[string][]exclusion{}
	for _, kind := range product.Kinds() {
		if product.Of(kind).Dialect != nil {
			all[kind] = exclusionsOf(kind)
		}
	}
	return all
}()

// exclusionsOf reads the list of a kind of server.
func exclusionsOf(kind string) (all []exclusion) {
	text, err := exclusionLists.ReadFile("exclusions/" + kind + ".txt")
	if err != nil {
		panic(err) // it is part of the program
	}
	for line := range strings.Lines(string(text)) {
		names, why, _ := strings.Cut(strings.TrimSpace(line), ": ")
		if strings.HasPrefix(names, "#") {
			continue
		}
		for name := range strings.FieldsSeq(names) {
			all = append(all, exclusion{name, why})
		}
	}
	return all
}

// excluded tells whether a setting is not for a private server, and why where
// that can matter for speed.
func excluded(kind, name, value string) (apart bool, why string) {
	if kindOf(kind).dotted && strings.Contains(name, ".") {
		return true, ""
	}
	list := exclusions[kind]
	i := slices.IndexFunc(list, func(x exclusion) bool {
		fits, _ := path.Match(x.name, name)
		return fits
	})
	switch {
	case i >= 0:
		return true, list[i].says
	case name == "huge_pages" && value == "on": // try is as good where there are some
		return true, "no huge pages are reserved for the sandbox, without which the server would not start"
	case experiment.NamesPath(value), !oneLine(value):
		return true, ""
	}
	return false, ""
}

// oneLine tells whether a value can stand in a file of settings.
func oneLine(value string) bool {
	return utf8.ValidString(value) && !strings.ContainsFunc(value, unicode.IsControl) && len(value) <= 2000
}

// ofTheServer are the beginnings of the names of settings that MySQL and
// MariaDB have without any plugin. Of what the catalogue does not list, only
// these are taken over: a server refuses to start with a setting of a plugin
// that it does not have.
var ofTheServer = []string{"innodb_", "aria_", "optimizer_", "performance_schema", "join_", "histogram_", "table_", "thread_", "query_", "binlog_", "max_", "min_", "net_", "tmp_", "temptable_", "key_", "sort_",
	"read_", "range_", "eq_range_", "back_log", "concurrent_insert", "flush", "low_priority_updates", "log_slow_", "log_queries_", "mrr_", "preload_", "stored_program_", "tablespace_", "use_stat_tables", "metadata_locks_",
	"myisam_", "expensive_", "in_predicate_", "big_tables", "bulk_insert", "transaction_", "gtid_", "sync_", "lock_", "host_cache_"}

func beginsKnown(name string) bool {
	return slices.ContainsFunc(ofTheServer, func(p string) bool { return strings.HasPrefix(name, p) })
}
