package watch_test

import (
	"slices"
	"testing"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// queueing is a load of a server with so many requests in the queue of its thread pool, besides two sessions that run.
func queueing(l load, requests float64) load {
	l.seconds = 40
	l.sessions = map[series.Class]float64{series.ClassCPU: 2, series.ClassRead: l.sessions[series.ClassRead], series.ClassOther: requests}
	l.readings = map[series.ID]float64{{Of: db, Name: "thread_pool_queue"}: requests}
	return l
}

// TestRequestsWaitForThePool: a queue before the threads is what limits a server whose disk and processors have room, and what a disk
// that is saturated looks like from above. Where nobody tells of a queue, that is unknown, unless there is no pool.
func TestRequestsWaitForThePool(t *testing.T) {
	untold := queueing(calm, 0)
	untold.readings = nil
	for name, c := range map[string]struct {
		handling string
		then     load
		first    string
		effect   bool
		unknown  bool
	}{
		"a queue":            {"pool-of-threads", queueing(calm, 12), "slots/thread-pool", false, false},
		"the disk is full":   {"pool-of-threads", queueing(full, 6), "device/saturated", true, false},
		"one now and then":   {"pool-of-threads", queueing(calm, 0.5), "", false, false},
		"not told":           {"pool-of-threads", untold, "", false, true},
		"no pool":            {"one-thread-per-connection", untold, "", false, false},
		"handling not known": {"", queueing(calm, 12), "", false, true},
	} {
		p := picture()
		if c.handling != "" {
			p.Find(db).Set("thread_handling", stack.Text(c.handling), "test")
		}
		m := &made{}
		m.add(calm)
		m.add(c.then)
		got := m.feed(judge(), p)
		first := ""
		if len(got.Verdicts) > 0 {
			first = got.Verdicts[0].ID
		}
		v := find(got, "slots/thread-pool")
		if first != c.first || (unknownOf(got, "slots/thread-pool") != nil) != c.unknown {
			t.Errorf("%s: raised %q, want %q first", name, ids(got), c.first)
		}
		if c.effect && (v == nil || !slices.Contains(v.Causes, c.first)) {
			t.Errorf("%s: %+v is not said to be what %s looks like", name, v, c.first)
		}
	}
}
