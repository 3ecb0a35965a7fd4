package watch

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// What shares of session time are made of.
const (
	sampled   = 30 * time.Second // of samples
	leastSeen = 10.0             // sessions seen active in them, together; with fewer a share says nothing
	mostMute  = 0.2              // share of sessions that do not say what they do, above which shares are not known
)

// sessions are what one server's sessions were seen to do.
type sessions struct {
	samples []sessionSample
	list    []series.Session // of the newest look
	listed  time.Time
}

// sessionSample counts the active sessions of one moment.
type sessionSample struct {
	at      time.Time
	active  float64
	classes map[series.Class]float64
}

func (s *sessions) forget(to time.Time) {
	s.samples = slices.DeleteFunc(s.samples, func(x sessionSample) bool { return x.at.Before(to.Add(-sampled)) })
	if s.listed.Before(to.Add(-sampled)) {
		s.list = nil
	}
}

// active is how many sessions were active in the samples, on average.
func (s *sessions) active() (float64, bool) {
	if s == nil || len(s.samples) == 0 {
		return 0, false
	}
	sum := 0.0
	for _, x := range s.samples {
		sum += x.active
	}
	return sum / float64(len(s.samples)), true
}

// Names of readings.
const (
	sessionsActive = "sessions_active"
	sessionsOf     = "sessions_" // and a class
)

// takeSessions keeps what a batch says of sessions.
func (j *Judge) takeSessions(b series.Batch) {
	found := map[stack.Ref]*sessionSample{}
	for _, r := range b.Readings {
		class, ok := strings.CutPrefix(r.Name, sessionsOf)
		if !ok {
			continue
		}
		if found[r.Of] == nil {
			found[r.Of] = &sessionSample{at: b.At, active: math.NaN(), classes: map[series.Class]float64{}}
		}
		if r.Name == sessionsActive {
			found[r.Of].active = r.Value
			continue
		}
		found[r.Of].classes[series.Class(class)] = r.Value
	}
	for of, x := range found {
		if !math.IsNaN(x.active) {
			s := j.sessionsOf(of)
			s.samples = append(s.samples, *x)
			s.list, s.listed = nil, b.At
		}
	}
	for _, x := range b.Sessions {
		s := j.sessionsOf(x.Of)
		if !s.listed.Equal(b.At) {
			s.list, s.listed = nil, b.At
		}
		s.list = append(s.list, x)
	}
}

func (j *Judge) sessionsOf(of stack.Ref) *sessions {
	if j.sessions[of] == nil {
		j.sessions[of] = &sessions{}
	}
	return j.sessions[of]
}

// ioClasses are those that wait for files.
var ioClasses = []series.Class{series.ClassRead, series.ClassWrite, series.ClassLog}

// classIO is all classes that wait for files, together.
const classIO series.Class = "io"

// sum adds up the samples: how many sessions were active, and how many of each class, if every sample counts that class. A class
// that a server does not count, like most of MongoDB's, is unknown and not zero.
func (s *sessions) sum() (n float64, of map[series.Class]float64) {
	of = map[series.Class]float64{}
	counted := map[series.Class]int{}
	for _, x := range s.samples {
		n += x.active
		for class, v := range x.classes {
			of[class] += v
			counted[class]++
		}
	}
	maps.DeleteFunc(of, func(class series.Class, _ float64) bool { return counted[class] < len(s.samples) })
	io := 0.0
	for _, class := range ioClasses {
		v, told := of[class]
		if !told {
			return n, of
		}
		io += v
	}
	of[classIO] = io
	return n, of
}

// shares sets the shares of a server's active time, and tells whether they are
// known.
func (j *Judge) shares(w *judged, t *stack.Thing) (known bool) {
	s := j.sessions[t.Ref]
	if s == nil || len(s.samples) == 0 {
		return false
	}
	n, of := s.sum()
	mute := n >= leastSeen && of[series.ClassUnknown] > mostMute*n
	for _, class := range append(slices.Clone(series.Classes), classIO) {
		name := "share_" + string(class)
		if n < leastSeen {
			for _, ending := range []string{"", "_low", "_high"} {
				t.SetAbsent(name+ending, "sessions")
			}
			continue
		}
		count, told := of[class]
		if !told {
			gap(w.stack, t.Ref, "it does not report how many of its active sessions do this", w.hintFor(t.Ref, sessionsOf+string(class)), name, name+"_*")
			continue
		}
		i := stats.Share(count, n)
		if mute && class != series.ClassUnknown && i.Low < 0.2 {
			gap(w.stack, t.Ref, fmt.Sprintf("%.0f %% of its active sessions do not report what they do", 100*of[series.ClassUnknown]/n), w.hintFor(t.Ref, "sessions_unknown"), name, name+"_*")
			continue
		}
		j.set(t, name, i.Value)
		j.set(t, name+"_low", i.Low)
		j.set(t, name+"_high", i.High)
	}
	_, told := of[classIO]
	return told && !mute
}

// hintFor is what a source said would show a reading.
func (w *judged) hintFor(of stack.Ref, name string) string {
	g, _ := w.stack.GapFor(of, name)
	return g.Hint
}

// blocker sets who is at the root of most waits for locks.
func (j *Judge) blocker(w *judged, t *stack.Thing) {
	s := j.sessions[t.Ref]
	if s == nil || len(s.samples) == 0 {
		return
	}
	about := []string{"blocker", "blocker_class", "blocker_blocks", "blocker_for"}
	id, blocks := root(s.list)
	switch waits := s.samples[len(s.samples)-1].classes[series.ClassLock] > 0; {
	case blocks == 0 && waits: // what holds a lock need not be a session: a prepared transaction is none
		g, _ := w.stack.GapFor(t.Ref, "blocked_by")
		if !slices.Contains(g.Facts, "blocked_by") { // it is about something else
			g.Hint = ""
			g.Why = "sessions wait for locks, but the server does not report who holds them"
		}
		gap(w.stack, t.Ref, g.Why, g.Hint, about...)
		return
	case blocks == 0:
		t.Absent("sessions", about...)
		return
	}
	text, class := fmt.Sprintf("session %d", id), ""
	for _, x := range s.list {
		if x.ID != id {
			continue
		}
		text, class = named(x), string(x.Class)
		if !x.Active {
			class = x.Idle()
		}
		j.set(t, "blocker_for", x.For.Seconds())
	}
	t.Set("blocker", stack.Text(text), "sessions")
	j.set(t, "blocker_blocks", float64(blocks))
	if class != "" {
		t.Set("blocker_class", stack.Text(class), "sessions")
	}
}

// latch sets which latch most of the sessions wait for that are listed.
func (j *Judge) latch(w *judged, t *stack.Thing) {
	s := j.sessions[t.Ref]
	if s == nil || len(s.samples) == 0 {
		return
	}
	waits := map[string]int{}
	for _, x := range s.list {
		if x.Class == series.ClassLatch && x.Wait != "" {
			waits[x.Wait]++
		}
	}
	most := ""
	for _, name := range slices.Sorted(maps.Keys(waits)) {
		if waits[name] > waits[most] {
			most = name
		}
	}
	switch {
	case most != "":
		t.Set("latch", stack.Text(most), "sessions")
	case s.samples[len(s.samples)-1].classes[series.ClassLatch] > 0:
		gap(w.stack, t.Ref, "sessions wait for latches, but none of the listed sessions does", "", "latch")
	default:
		t.SetAbsent("latch", "sessions")
	}
}

// named is how a session is spoken of.
func named(x series.Session) string {
	text := fmt.Sprintf("session %d", x.ID)
	if x.User != "" {
		text += " of " + x.User
		if x.Client != "" {
			text += "@" + x.Client
		}
	}
	if !x.Active {
		text += fmt.Sprintf(", %s for %s", x.Idle(), units.Span(x.For.Round(time.Second)))
	}
	return text
}

// root finds the session that waits for nobody and for which most others wait,
// those behind them included; of several the one with the lowest number.
func root(list []series.Session) (id int64, blocks int) {
	by := map[int64]int64{}
	for _, x := range list {
		if len(x.BlockedBy) > 0 {
			by[x.ID] = slices.Min(x.BlockedBy)
		}
	}
	behind := map[int64]int{}
	for from := range by {
		at, seen := from, map[int64]bool{}
		for next, waits := by[at]; waits && !seen[at]; next, waits = by[at] {
			seen[at] = true
			at = next
		}
		behind[at]++
	}
	for who, n := range behind {
		if n > blocks || n == blocks && who < id {
			id, blocks = who, n
		}
	}
	return id, blocks
}
