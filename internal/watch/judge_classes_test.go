package watch_test

import (
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
