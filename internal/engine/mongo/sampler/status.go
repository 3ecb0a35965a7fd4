package sampler

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"plumb/internal/engine/mongo"
)

// The questions. The sections that are left out of the first are the large ones.
const (
	sessionsQuery = `{"serverStatus": 1, "asserts": 0, "catalogStats": 0, "electionMetrics": 0, "locks": 0, "logicalSessionRecordCache": 0, "metrics": 0, ` +
		`"network": 0, "opLatencies": 0, "queryAnalyzers": 0, "repl": 0, "security": 0, "sharding": 0, "tcmalloc": 0, "transactions": 0, "wiredTiger": 0, "$only": ["globalLock"]}`
	statusQuery = `{"serverStatus": 1, "locks": 0, "metrics": 0, "repl": 0, "tcmalloc": 0}`
)

// path leads to a number of serverStatus.
type path []string

func cache(name string) path { return path{"wiredTiger", "cache", name} }

func journal(name string) path { return path{"wiredTiger", "log", name} }

// counted says, for each reading, where it is.
// What WiredTiger calls its numbers is in dist/stat_data.py of its source.
var counted = []struct {
	name string
	path path
}{
	{"uptime", path{"uptime"}},
	{"connections_current", path{"connections", "current"}},
	{"connections_available", path{"connections", "available"}},
	{"page_faults", path{"extra_info", "page_faults"}},
	{"cache_used", cache("bytes currently in the cache")},
	{"cache_dirty", cache("tracked dirty bytes in the cache")},
	{"cache_reads", cache("pages read into cache")},
	{"cache_requests", cache("pages requested from the cache")},
	{"cache_written", cache("pages written from cache")},
	{"journal_bytes", journal("log bytes written")},
	{"journal_sync_us", journal("log sync time duration (usecs)")},
	{"journal_syncs", journal("log sync operations")},
	{"flow_control_lagged", path{"flowControl", "isLaggedCount"}},
}

// status reads an answer to statusQuery.
func status(text []byte, set func(string, float64)) error {
	doc, err := parse(text)
	if err != nil {
		return err
	}
	for _, c := range counted {
		if n, ok := number(doc, c.path...); ok {
			set(c.name, n)
		}
	}
	tickets(doc, set)
	if n, ok := mongo.EvictedByClients(func(name string) (float64, bool) { return number(doc, cache(name)...) }); ok {
		set("cache_app_evictions", n)
		set("cache_evicted_by_clients", n)
	}
	operations(doc, set)
	size, ok := number(doc, cache("maximum bytes configured")...)
	for _, c := range [][2]string{{"bytes currently in the cache", "cache_used_percent"}, {"tracked dirty bytes in the cache", "cache_dirty_percent"}} {
		if n, has := number(doc, cache(c[0])...); ok && has && size > 0 {
			set(c[1], 100*n/size)
		}
	}
	return nil
}

// operations sets how many of each kind there were, and of all kinds where each is told.
func operations(doc map[string]any, set func(string, float64)) {
	total, all := 0.0, true
	for _, op := range [][2]string{{"insert", "inserts"}, {"query", "queries"}, {"update", "updates"}, {"delete", "deletes"}, {"getmore", "getmores"}, {"command", "commands"}} {
		n, ok := number(doc, "opcounters", op[0])
		if ok {
			set(op[1], n)
		}
		total, all = total+n, all && ok
	}
	if all {
		set("operations", total)
	}
}

// sessions reads an answer to sessionsQuery. Those that wait are for a ticket or
// a lock: the server does not say for which. Of those that have it, it does not
// say whether they run, read or write.
func sessions(text []byte, set func(string, float64)) error {
	doc, err := parse(text)
	if err != nil {
		return err
	}
	var n [4]float64
	for i, p := range []path{{"activeClients", "readers"}, {"activeClients", "writers"}, {"currentQueue", "readers"}, {"currentQueue", "writers"}} {
		var ok bool
		if n[i], ok = number(doc, p...); !ok {
			return fmt.Errorf("serverStatus has no globalLock.%s.%s", p[0], p[1])
		}
	}
	set("queued_readers", n[2])
	set("queued_writers", n[3])
	set("sessions_active", n[0]+n[1]+n[2]+n[3])
	set("sessions_other", n[2]+n[3])
	set("sessions_unknown", n[0]+n[1])
	return nil
}

func parse(text []byte) (map[string]any, error) {
	var doc map[string]any
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("read the answer to serverStatus: %w", err)
	}
	if doc == nil {
		return nil, errors.New("the answer to serverStatus is empty")
	}
	return doc, nil
}

// number is one that counts something: it is not below none.
func number(doc map[string]any, keys ...string) (float64, bool) {
	n, ok := signed(doc, keys...)
	return n, ok && n >= 0
}

func signed(doc map[string]any, keys ...string) (float64, bool) {
	last := len(keys) - 1
	n, ok := section(doc, keys[:last]...)[keys[last]].(float64)
	return n, ok && !math.IsInf(n, 0)
}

// section is what lies below some keys, nil where that is not there.
func section(doc map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		doc, _ = doc[k].(map[string]any)
	}
	return doc
}
