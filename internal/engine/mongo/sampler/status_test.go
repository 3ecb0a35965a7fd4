package sampler

import (
	"context"
	"fmt"
	"testing"

	"plumb/internal/engine/mongo"
	"plumb/internal/engine/mongo/mongotest"
	"plumb/internal/engine/samplertest"
	"plumb/internal/host"
	"plumb/internal/stack"
	"plumb/test/captured"
)

func asked(t *testing.T, read func([]byte, func(string, float64)) error, text string) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	if err := read([]byte(text), func(name string, v float64) { out[name] = v }); err != nil {
		t.Fatal(err)
	}
	return out
}

// recorded gives the serverStatus of the tape of a real mongod 4.4.0.
func recorded(t *testing.T) string {
	t.Helper()
	taped, err := captured.Host("../../../../fixtures/mongodb-ext4.tape.gz")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := taped.Query(context.Background(), host.Target{Engine: "mongo", Name: "mongo:127.0.0.1:27017"}, `{"serverStatus": 1}`)
	if err != nil {
		t.Fatal(err)
	}
	return host.Text(rows.Values[0], 0)
}

func TestStatusOfARealServer(t *testing.T) {
	got := asked(t, status, recorded(t))
	for name, want := range map[string]float64{"operations": 1024, "inserts": 1000, "queries": 1, "updates": 0, "commands": 23, "tickets_read_free": 127, "tickets_write_free": 128, "connections_current": 3, "page_faults": 5} {
		if n, ok := got[name]; !ok || n != want {
			t.Errorf("%s is %v (%t), want %v", name, n, ok, want)
		}
	}
	for _, name := range []string{"uptime", "cache_used", "cache_dirty", "cache_written", "cache_evicted_by_clients", "journal_bytes", "journal_sync_us", "journal_syncs"} {
		if _, ok := got[name]; !ok {
			t.Errorf("no reading %s", name)
		}
	}
}

// TestAServerElsewhereIsRead: --dsn can name a server of another host, so that no process of it is here.
func TestAServerElsewhereIsRead(t *testing.T) {
	address := mongotest.Idle(t, recorded(t))
	live := host.NewLive(host.LiveOptions{Dialers: map[string]host.Dialer{kind: mongo.NewDialer("mongodb://" + address)}})
	defer live.Close()
	s, server := samplertest.LoggedIn(kind, address)
	for _, source := range New(address).Sources(s) {
		b, err := source.Take(t.Context(), live)
		if err != nil || len(b.Readings) == 0 || b.Readings[0].Of != server {
			t.Errorf("%s: %v, %v", source.Name(), b.Readings, err)
		}
	}
}

// TestTicketsOfEachVersion: documents made after the source of mongod, as package sampler says where it reads them, since
// only a 4.4 could be recorded. What a version does not tell is not given, and is not none.
func TestTicketsOfEachVersion(t *testing.T) {
	for name, c := range map[string]struct {
		status string
		want   map[string]float64
	}{
		"6.0": {`{"wiredTiger": {"concurrentTransactions": {"write": {"out": 1, "available": 127, "totalTickets": 128}, "read": {"out": 128, "available": 0, "totalTickets": 128}}}}`,
			map[string]float64{"tickets_read": 128, "tickets_write": 128, "tickets_read_free": 0, "tickets_write_free": 127}},
		"7.0": {`{"wiredTiger": {"concurrentTransactions": {
			"write": {"out": 0, "available": 4, "totalTickets": 4, "queueLength": 0, "totalTimeQueuedMicros": 20},
			"read": {"out": 4, "available": 0, "totalTickets": 4, "queueLength": 2, "totalTimeQueuedMicros": 300}, "monitor": {"timesIncreased": 3}}}}`,
			map[string]float64{"tickets_read": 4, "tickets_write": 4, "tickets_read_free": 0, "tickets_write_free": 4, "tickets_wait_us": 320}},
		"7.0, by priority": {`{"wiredTiger": {"concurrentTransactions": {
			"write": {"out": 0, "available": 4, "totalTickets": 4, "normalPriority": {"queueLength": 0, "totalTimeQueuedMicros": 20}},
			"read": {"out": 4, "available": 0, "totalTickets": 4, "lowPriority": {"totalTimeQueuedMicros": 5}, "normalPriority": {"queueLength": 2, "totalTimeQueuedMicros": 300}}}}}`,
			map[string]float64{"tickets_read": 4, "tickets_write": 4, "tickets_read_free": 0, "tickets_write_free": 4, "tickets_wait_us": 325}},
		"8.0": {`{"wiredTiger": {}, "queues": {"execution": {
			"read": {"out": 1, "available": 7, "totalTickets": 8, "exempt": {"totalTimeQueuedMicros": 0}, "normalPriority": {"queueLength": 0, "totalTimeQueuedMicros": 9}},
			"write": {"out": 3, "available": 5, "totalTickets": 8, "exempt": {"totalTimeQueuedMicros": 0}, "normalPriority": {"queueLength": 0, "totalTimeQueuedMicros": 1}},
			"monitor": {"timesIncreased": 3}}, "ingress": {}}}`,
			map[string]float64{"tickets_read": 8, "tickets_write": 8, "tickets_read_free": 7, "tickets_write_free": 5, "tickets_wait_us": 10}},
		"just made fewer": {`{"queues": {"execution": {"read": {"available": -3, "totalTickets": 4}, "write": {"available": 4, "totalTickets": 4, "normalPriority": {"totalTimeQueuedMicros": 1}}}}}`,
			map[string]float64{"tickets_read": 4, "tickets_write": 4, "tickets_read_free": 0, "tickets_write_free": 4}},
		"not told": {`{"queues": {"execution": {"read": {"out": 1}, "write": []}}}`, map[string]float64{}},
		"none":     {`{"queues": 1}`, map[string]float64{}},
	} {
		if got := asked(t, status, c.status); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestEvictionsOfEachVersion: since 8.0 attempts are counted, and those that failed.
func TestEvictionsOfEachVersion(t *testing.T) {
	for text, want := range map[string]map[string]float64{
		`"pages evicted by application threads": 7`:                                                        {"cache_app_evictions": 7, "cache_evicted_by_clients": 7},
		`"page evict attempts by application threads": 9, "page evict failures by application threads": 4`: {"cache_app_evictions": 5, "cache_evicted_by_clients": 5},
		`"page evict attempts by application threads": 9`:                                                  {},
	} {
		got := asked(t, status, `{"wiredTiger": {"cache": {`+text+`}}}`)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestShareOfTheCache: made, since no 8.0 could be recorded.
func TestShareOfTheCache(t *testing.T) {
	got := asked(t, status, `{"uptime": 9, "wiredTiger": {"cache": {"maximum bytes configured": 200, "bytes currently in the cache": 50}}}`)
	want := map[string]float64{"uptime": 9, "cache_used": 50, "cache_used_percent": 25}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestSessions(t *testing.T) {
	got := asked(t, sessions, `{"totalTime": 5, "currentQueue": {"total": 3, "readers": 1, "writers": 2}, "activeClients": {"total": 9, "readers": 4, "writers": 3}}`)
	want := map[string]float64{"queued_readers": 1, "queued_writers": 2, "sessions_active": 10, "sessions_other": 3, "sessions_unknown": 7}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	for _, bad := range []string{"", "null", "[]", `{"currentQueue": {}}`, `{"activeClients": {"readers": 1, "writers": -1}}`} {
		if err := sessions([]byte(bad), func(name string, v float64) { t.Errorf("%s: %s is %v", bad, name, v) }); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
}

func TestQueriesOnlyRead(t *testing.T) {
	for _, q := range []string{sessionsQuery, statusQuery, operationsQuery} {
		if !mongo.NewDialer("").Reads(q) {
			t.Errorf("refused: %s", q)
		}
	}
}

func TestSources(t *testing.T) {
	s, obs := &stack.Stack{}, stack.Observation{}
	obs.New(kind, "27017").Set("logged_in", stack.Bool(true), "test")
	obs.New(kind, "27018").Set("logged_in", stack.Bool(false), "test")
	s.Add("test", obs)
	all := New("").Sources(s)
	if len(all) != 2 || all[0].Name() != "mongo:27017 sessions" || all[1].Name() != "mongo:27017 status" {
		t.Errorf("%v", all)
	}
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte(`{"wiredTiger": {"cache": {"maximum bytes configured": 0}}, "opcounters": {"insert": 1e999}}`))
	f.Fuzz(func(_ *testing.T, text []byte) {
		_ = status(text, func(string, float64) {})
		_ = sessions(text, func(string, float64) {})
	})
}
