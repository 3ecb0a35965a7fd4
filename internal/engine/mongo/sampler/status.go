package sampler

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
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

// counted says, for each reading, where it is: the first path that is there.
// Tickets moved from wiredTiger.concurrentTransactions to queues.execution in
// 8.0. What WiredTiger calls its numbers is in dist/stat_data.py of its source.
var counted = []struct {
	name  string
	paths []path
}{
	{"uptime", []path{{"uptime"}}},
	{"connections_current", []path{{"connections", "current"}}},
	{"connections_available", []path{{"connections", "available"}}},
	{"page_faults", []path{{"extra_info", "page_faults"}}},
	{"cache_used", []path{cache("bytes currently in the cache")}},
	{"cache_dirty", []path{cache("tracked dirty bytes in the cache")}},
	{"cache_reads", []path{cache("pages read into cache")}},
	{"cache_requests", []path{cache("pages requested from the cache")}},
	{"cache_written", []path{cache("pages written from cache")}},
	{"cache_app_evictions", []path{cache("pages evicted by application threads")}},
	{"cache_evicted_by_clients", []path{cache("pages evicted by application threads")}},
	{"journal_bytes", []path{journal("log bytes written")}},
	{"journal_sync_us", []path{journal("log sync time duration (usecs)")}},
	{"journal_syncs", []path{journal("log sync operations")}},
	{"tickets_read_free", []path{{"queues", "execution", "read", "available"}, {"wiredTiger", "concurrentTransactions", "read", "available"}}},
	{"tickets_write_free", []path{{"queues", "execution", "write", "available"}, {"wiredTiger", "concurrentTransactions", "write", "available"}}},
	{"flow_control_lagged", []path{{"flowControl", "isLaggedCount"}}},
}

// status reads an answer to statusQuery.
func status(text []byte, set func(string, float64)) error {
	doc, err := parse(text)
	if err != nil {
		return err
	}
	for _, c := range counted {
		for _, p := range c.paths {
			if n, ok := number(doc, p...); ok {
				set(c.name, n)
				break
			}
		}
	}
	total, all := 0.0, true
	for _, op := range []string{"insert", "query", "update", "delete", "getmore", "command"} {
		n, ok := number(doc, "opcounters", op)
		total, all = total+n, all && ok
	}
	if all {
		set("operations", total)
	}
	size, ok := number(doc, cache("maximum bytes configured")...)
	for _, c := range [][2]string{{"bytes currently in the cache", "cache_used_percent"}, {"tracked dirty bytes in the cache", "cache_dirty_percent"}} {
		if n, has := number(doc, cache(c[0])...); ok && has && size > 0 {
			set(c[1], 100*n/size)
		}
	}
	return nil
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

func number(doc map[string]any, keys ...string) (float64, bool) {
	var at any = doc
	for _, k := range keys {
		m, ok := at.(map[string]any)
		if !ok {
			return 0, false
		}
		at = m[k]
	}
	n, ok := at.(float64)
	return n, ok && n >= 0 && !math.IsInf(n, 0)
}
