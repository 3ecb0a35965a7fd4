package capture

import (
	"slices"
	"time"

	"plumb/internal/stack"
	"plumb/internal/watch"
)

// Again is how long after a capture the same verdict about the same server gets
// no other one: an incident that comes and goes must not fill the disk.
const Again = 10 * time.Minute

// Trigger tells when to capture.
type Trigger struct {
	Only []string // ids of verdicts; none: every limit
	last map[about]time.Time
	held map[about]bool
}

type about struct {
	id     string
	server stack.Ref
}

// Raised gives the verdict of a moment that was not raised in the one before and
// is worth a capture: the most expensive, and a cause before what it brings about. nil:
// there is none. One about another server, raised at the same time, has its turn at the next moment.
func (t *Trigger) Raised(m watch.Moment) *watch.Verdict {
	held := map[about]bool{}
	var chosen *watch.Verdict
	for i, v := range m.Verdicts {
		key := about{v.ID, v.Server}
		held[key] = true
		last, captured := t.last[key]
		if t.held[key] || captured && m.At.Sub(last).Abs() < Again || !t.wants(v.ID) {
			continue
		}
		switch {
		case chosen == nil:
			chosen = &m.Verdicts[i]
		case v.Server != chosen.Server:
			delete(held, key)
		}
	}
	t.held = held
	if chosen != nil {
		if t.last == nil {
			t.last = map[about]time.Time{}
		}
		t.last[about{chosen.ID, chosen.Server}] = m.At
	}
	return chosen
}

func (t *Trigger) wants(id string) bool {
	if len(t.Only) > 0 {
		return slices.Contains(t.Only, id)
	}
	return id != watch.Idle
}
