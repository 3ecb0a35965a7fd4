package watch

import (
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// StatementSpan collects what servers had counted of their statements at the beginning and at the end of a time, so that
// it can be compared with another.
type StatementSpan struct {
	From, To time.Time
	servers  byServer
}

// NewStatementSpan makes one that has seen nothing.
func NewStatementSpan(from, to time.Time) *StatementSpan { return &StatementSpan{from, to, byServer{}} }

// Batch takes what was read in that time, in the order in which it came. What is of another time it leaves.
func (s *StatementSpan) Batch(b series.Batch) {
	if b.At.Before(s.From) || b.At.After(s.To) {
		return
	}
	for of, l := range s.servers.look(b) {
		st := s.servers[of]
		if len(st.looks) > 0 && !l.at.After(st.looks[0].at) {
			st.looks = nil // the clock was set back: nobody knows how long it has been
		}
		st.looks = append(st.looks[:min(1, len(st.looks))], *l)
	}
}

// between gives both ends of what is known of a server.
func (s *StatementSpan) between(of stack.Ref) (between, bool) {
	st := s.servers[of]
	if st == nil || len(st.looks) < 2 {
		return between{}, false
	}
	return between{st.looks[0], st.looks[1]}, true
}

// Knows tells whether the statements of a server were looked at twice in that time.
func (s *StatementSpan) Knows(of stack.Ref) bool { _, ok := s.between(of); return ok }

// Changes gives what the statements of a server cost in that time, and against another.
func (s *StatementSpan) Changes(of stack.Ref, other *StatementSpan, by Order) []StatementChange {
	now, ok := s.between(of)
	was, ok2 := other.between(of)
	if !ok || !ok2 {
		return nil
	}
	return rest(now.changes(by, func(id string) (series.Statement, time.Duration, bool) {
		d, known := was.of(id)
		return d, was.over(), known || was.without(id)
	}))
}

// without tells that a statement did not run: it is not among those that were counted by the end, and these are all.
func (s between) without(id string) bool {
	_, counted := s.to.of[id]
	return !counted && len(s.to.of) < series.MostStatements-1 && s.from.forgotten == s.to.forgotten
}
