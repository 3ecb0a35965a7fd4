package watch

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// How time is cut.
const (
	Length = 5 * time.Second // of a window
	grace  = time.Second     // for which a batch may come after one that is later
	back   = 2 * time.Second // by which the clock must go back to begin a new stretch
	pause  = time.Minute     // without any batch, after which what was seen before tells nothing
)

// Judge says what limits each server. It is a [Sink]: the same pictures and
// batches give the same answers, in whatever order those of one second come. It
// is safe for concurrent use, and its memory does not grow with time.
type Judge struct {
	mu     sync.Mutex
	cat    *catalog.Catalog
	limits []*rule.Limit

	picture *stack.Stack              // what of the newest lasts
	waiting []series.Batch            // not yet in a window, in the order they came
	recent  map[string][]series.Batch // by source: what the next window needs
	newest  time.Time
	next    time.Time // the end of the window that is judged next; zero: none was begun

	devices     devices
	sessions    map[stack.Ref]*sessions
	statements  byServer
	checkpoints map[stack.Ref]*checkpoints
	standing    map[key]*standing
	over        []Span // that ended, oldest first
	now         *judged
}

// judged is what was made of the newest window.
type judged struct {
	to     time.Time
	stack  *stack.Stack
	values sample.Values
	said   map[key]*said
	gaps   []series.Gap
}

var _ Sink = (*Judge)(nil)

// NewJudge makes one that has seen nothing. The catalogue is one of windows
// ([catalog.Windows]), and the limits were read with it.
func NewJudge(cat *catalog.Catalog, limits []*rule.Limit) *Judge {
	j := &Judge{cat: cat, limits: limits, devices: newDevices(), sessions: map[stack.Ref]*sessions{},
		statements: map[stack.Ref]*statements{}, checkpoints: map[stack.Ref]*checkpoints{}, standing: map[key]*standing{}}
	j.anew()
	return j
}

// Judges tells whether there is a verdict of that id.
func (j *Judge) Judges(id string) bool {
	return slices.ContainsFunc(j.limits, func(l *rule.Limit) bool { return l.ID == id })
}

// anew forgets what was read, and keeps what was learned and which verdicts are raised.
func (j *Judge) anew() {
	j.waiting, j.recent = nil, map[string][]series.Batch{}
	j.newest, j.next = time.Time{}, time.Time{}
	j.devices.anew()
	clear(j.sessions)
	clear(j.checkpoints)
	for _, s := range j.standing {
		s.lately, s.began = nil, nil
	}
}

// Picture takes the host as a whole.
func (j *Judge) Picture(_ time.Time, s *stack.Stack) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.picture = j.lasting(s)
	j.devices.meet(s)
}

// Batch takes what a source gave, and judges the windows that are complete now.
func (j *Judge) Batch(b series.Batch) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.newest.IsZero():
	case b.At.Before(j.newest.Add(-back)):
		clear(j.statements) // nobody knows how long ago they were looked at
		j.setBack(b.At)
		j.anew()
	case b.At.After(j.newest.Add(pause)):
		j.anew()
	}
	if j.next.IsZero() {
		j.next = b.At.Truncate(Length).Add(Length)
	}
	j.waiting = append(j.waiting, b)
	if b.At.After(j.newest) {
		j.newest = b.At
	}
	for !j.newest.Before(j.next.Add(grace)) {
		j.window(j.next)
		j.next = j.next.Add(Length)
	}
}

// window judges the window that ends at to.
func (j *Judge) window(to time.Time) {
	slices.SortStableFunc(j.waiting, func(a, b series.Batch) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Source, b.Source)) })
	n := 0
	for n < len(j.waiting) && j.waiting[n].At.Before(to) {
		j.take(j.waiting[n])
		n++
	}
	j.waiting = slices.Clone(j.waiting[n:])
	j.forget(to)
	if j.picture == nil {
		return
	}
	w := &judged{to: to, values: sample.Over(j.recent, to.Add(-Length), to, j.cat), said: map[key]*said{}}
	w.gaps = j.gapsNow()
	w.stack = j.overlay(w)
	j.derive(w)
	for _, l := range j.limits {
		for _, v := range l.Judge(w.stack) {
			w.add(v)
		}
	}
	j.raise(w)
	j.now = w
}

// take adds one batch to what is known, in the order of time.
func (j *Judge) take(b series.Batch) {
	read := b
	read.Sessions, read.Statements = nil, nil // kept below, and large
	j.recent[b.Source] = append(j.recent[b.Source], read)
	j.devices.take(b)
	j.takeSessions(b)
	j.takeStatements(b)
	j.takeCheckpoints(b)
}

// forget drops what no later window needs.
func (j *Judge) forget(to time.Time) {
	for name, batches := range j.recent {
		last := batches[len(batches)-1]
		keep := to.Add(-Length - 3*last.Every)
		batches = slices.DeleteFunc(batches, func(b series.Batch) bool { return b.At.Before(keep) })
		if len(batches) == 0 {
			delete(j.recent, name)
			continue
		}
		j.recent[name] = batches
	}
	for _, s := range j.sessions {
		s.forget(to)
	}
	j.forgetGone(to.Add(-unheard))
}

// unheard is after how long without news a server or device counts as gone. It is longer than anything that is remembered.
const unheard = 70 * time.Minute

// forgetGone drops what was seen of servers and devices that no longer exist. Otherwise memory would grow where they come and go
// under new names.
func (j *Judge) forgetGone(before time.Time) {
	maps.DeleteFunc(j.sessions, func(_ stack.Ref, s *sessions) bool {
		return len(s.samples) == 0 && s.listed.Before(before)
	})
	maps.DeleteFunc(j.statements, func(_ stack.Ref, s *statements) bool {
		return len(s.looks) == 0 || s.looks[len(s.looks)-1].at.Before(before)
	})
	maps.DeleteFunc(j.checkpoints, func(_ stack.Ref, c *checkpoints) bool {
		return len(c.looks) > 0 && c.looks[len(c.looks)-1].at.Before(before)
	})
	j.devices.forgetGone(before)
}

// gapsNow lists what the newest batch of each source says it could not read, by
// source.
func (j *Judge) gapsNow() []series.Gap {
	var out []series.Gap
	seen := map[series.Gap]bool{}
	for _, name := range slices.Sorted(maps.Keys(j.recent)) {
		last := j.recent[name][len(j.recent[name])-1]
		for _, g := range last.Gaps {
			if g.Of == (stack.Ref{}) {
				g.Why = name + ": " + g.Why
			}
			if !seen[g] && len(out) < mostGaps {
				out = append(out, g)
			}
			seen[g] = true
		}
	}
	if more := len(seen) - len(out); more > 0 {
		out = append(out, series.Gap{Why: "not listed: " + units.Count(more, "more thing") + " that cannot be seen"})
	}
	return out
}

// mostGaps is how many gaps of sources a moment lists at most.
const mostGaps = 200
