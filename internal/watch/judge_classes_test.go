package watch_test

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/watch"
)

// A MongoDB counts which of its operations wait for a lock or a ticket, together, and no other class. What it does
// not count is not none: no verdict about locks, the log or the disk is ruled out for it.
func TestClassesThatAServerDoesNotCount(t *testing.T) {
	mongo := stack.Ref{Kind: "mongo", Name: "27017"}
	j := judge()
	s := picture()
	var o stack.Observation
	server := o.New("mongo", "27017")
	server.Link("process", proc)
	server.Link("data", stack.Ref{Kind: "filesystem", Name: "/data"})
	s.Add("test", o)
	j.Picture(start, s)
	for i := range 60 {
		at := start.Add(time.Duration(i) * time.Second)
		b := series.Batch{Source: "mongo:27017 sessions", Every: time.Second, At: at}
		for name, v := range map[string]float64{"sessions_active": 20, "sessions_other": 19, "sessions_unknown": 1} {
			b.Set(mongo, name, v)
		}
		j.Batch(b)
		k := series.Batch{Source: "kernel", Every: time.Second, At: at.Add(time.Millisecond)}
		k.Set(host, "psi_io_some_us", float64(i)*5e5)
		j.Batch(k)
	}
	m := j.Moment(j.Known())
	for _, id := range []string{"lock/blocked", "log/flush", "replica/ack"} {
		if !unknownFor(m, mongo, id) {
			t.Errorf("%s is not unknown: %+v", id, m.Servers)
		}
	}
}

func unknownFor(m watch.Moment, of stack.Ref, id string) bool {
	for _, s := range m.Servers {
		for _, u := range s.Unknown {
			if s.Ref == of && u.ID == id {
				return true
			}
		}
	}
	return false
}

// TestTicketsOfAMongoDB: until 6.0 none left is what limits it; since 7.0, when the server itself changes their number, the time
// that operations wait for one is, and what 6.0 does not tell is not spoken of.
func TestTicketsOfAMongoDB(t *testing.T) {
	mongo := stack.Ref{Kind: "mongo", Name: "27017"}
	for name, c := range map[string]struct {
		version        string
		free, waiting  float64
		raised, untold bool
		say            string
	}{
		"6.0, none left":           {version: "6.0.19", raised: true, untold: true, say: "At the lowest point, 0 of 8 read tickets and 8 of 8 write tickets were left."},
		"6.0, some left":           {version: "6.0.19", free: 3, untold: true},
		"7.0, none left":           {version: "7.0.14"},
		"7.0, operations wait":     {version: "7.0.14", waiting: 12, raised: true, say: "12 operations waited for one."},
		"8.0, it is not told":      {version: "8.0.4", waiting: 12, untold: true},
		"8.0, operations wait":     {version: "8.0.4", free: 1, waiting: 12, raised: true, say: "12 operations waited for one."},
		"8.0, one in twenty waits": {version: "8.0.4", waiting: 1},
	} {
		s := picture()
		var o stack.Observation
		server := o.New("mongo", "27017")
		server.Set("version", stack.Text(c.version), "test")
		server.Link("process", proc)
		server.Link("data", stack.Ref{Kind: "filesystem", Name: "/data"})
		s.Add("test", o)
		j := judge()
		j.Picture(start, s)
		for i := range 60 {
			b := series.Batch{Source: "mongo:27017 sessions", Every: time.Second, At: start.Add(time.Duration(i) * time.Second)}
			b.Set(mongo, "sessions_active", 20)
			b.Set(mongo, "queued_readers", 12)
			j.Batch(b)
			if i%10 > 0 {
				continue
			}
			b = series.Batch{Source: "mongo:27017 status", Every: 10 * time.Second, At: b.At.Add(time.Millisecond)}
			for name, v := range map[string]float64{"tickets_read": 8, "tickets_write": 8, "tickets_read_free": c.free, "tickets_write_free": 8} {
				b.Set(mongo, name, v)
			}
			if !c.untold {
				b.Set(mongo, "tickets_wait_us", float64(i)*c.waiting*1e6)
			}
			j.Batch(b)
		}
		m := j.Moment(j.Known())
		v := find(m, "slots/connections")
		if raised := v != nil; raised != c.raised || raised && (!strings.Contains(v.Say, c.say) || strings.Contains(v.Say, "?")) {
			t.Errorf("%s: raised %v, want %v: %+v", name, raised, c.raised, v)
		}
		if is, want := unknownFor(m, mongo, "slots/connections"), c.untold && c.version != "6.0.19"; is != want {
			t.Errorf("%s: unknown %v, want %v", name, is, want)
		}
	}
}
