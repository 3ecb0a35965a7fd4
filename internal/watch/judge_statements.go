package watch

import (
	"maps"
	"slices"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// How statements are compared: the last minute, and the one before it.
const (
	minute         = time.Minute
	mostStatements = 50               // shown of each order; what is left is one line
	apart          = 20 * time.Second // of two looks that are kept: each is large
)

// statements are what one server counted of its statements, from time to time,
// for two minutes.
type statements struct {
	looks  []statementLook
	texts  map[string]string
	uptime float64 // of the server, as it was last told; 0: never
}

type statementLook struct {
	at        time.Time
	of        map[string]series.Statement // by id, without text
	forgotten float64                     // how often the server threw some out by then, where it tells
}

// forgotten is the name of that count.
const forgotten = "statements_forgotten"

// byServer are the statements of each server.
type byServer map[stack.Ref]*statements

// look makes a look of each server of what a batch says of statements.
func (all byServer) look(b series.Batch) map[stack.Ref]*statementLook {
	all.restarted(b)
	found := map[stack.Ref]*statementLook{}
	for _, s := range b.Statements {
		st := all[s.Of]
		if st == nil {
			st = &statements{texts: map[string]string{}}
			all[s.Of] = st
		}
		l := found[s.Of]
		if l == nil {
			l = &statementLook{at: b.At, of: map[string]series.Statement{}}
			found[s.Of] = l
		}
		id := s.Database + " " + s.ID
		if s.Text != "" {
			st.texts[id] = s.Text
		}
		s.Text = st.texts[id] // one copy for all looks
		l.of[id] = s
	}
	for _, r := range b.Readings {
		if l := found[r.Of]; l != nil && r.Name == forgotten {
			l.forgotten = r.Value
		}
	}
	return found
}

// takeStatements keeps what a batch says of statements.
func (j *Judge) takeStatements(b series.Batch) {
	for of, l := range j.statements.look(b) {
		st := j.statements[of]
		if n := len(st.looks); n > 1 && st.looks[n-1].at.Sub(st.looks[n-2].at) < apart {
			st.looks = st.looks[:n-1] // the newest is always kept, those before it so far apart
		}
		st.looks = append(st.looks, *l)
		st.looks = slices.DeleteFunc(st.looks, func(o statementLook) bool { return !o.at.After(l.at.Add(-2*minute-15*time.Second)) || o.at.After(l.at) })
		for id := range st.texts {
			if !slices.ContainsFunc(st.looks, func(o statementLook) bool { _, in := o.of[id]; return in }) {
				delete(st.texts, id)
			}
		}
	}
}

// restarted forgets the counts of a server that was started since, or that another one has replaced under its name. PostgreSQL
// keeps its counts over a restart, and the counts of two servers are not steps of one count.
func (all byServer) restarted(b series.Batch) {
	for _, r := range b.Readings {
		st := all[r.Of]
		if st == nil || r.Name != "uptime" {
			continue
		}
		if r.Value < st.uptime {
			*st = statements{texts: map[string]string{}}
		}
		st.uptime = r.Value
	}
}

// cost is what a statement cost between two looks.
type cost struct{ calls, seconds float64 }

// changes gives what each statement cost in the last minute, or since watching began, the most expensive first,
// and against the minute before where both were seen.
func (st *statements) changes() []StatementChange {
	now := len(st.looks) - 1
	if now < 1 {
		return nil
	}
	a := st.at(st.looks[now].at.Add(-minute))
	b := st.at(st.looks[now].at.Add(-2 * minute))
	was := between{st.looks[b], st.looks[a]}
	return rest(between{st.looks[a], st.looks[now]}.changes(ByTime, func(id string) (series.Statement, time.Duration, bool) {
		d, ok := was.of(id)
		return d, was.over(), ok && a > b
	}))
}

// between is what was counted at the beginning and at the end of a time.
type between struct{ from, to statementLook }

func (s between) over() time.Duration { return s.to.at.Sub(s.from.at) }

// of is what a statement cost in that time.
func (s between) of(id string) (series.Statement, bool) { return s.to.since(s.from, id) }

// changes gives what each statement cost in that time, and against what it cost before, and in which time that was, where
// that is known.
func (s between) changes(by Order, before func(id string) (series.Statement, time.Duration, bool)) (out []StatementChange) {
	for id := range s.to.of {
		d, ok := s.of(id)
		if !ok || d.Calls <= 0 {
			continue
		}
		c := StatementChange{Statement: d, Over: s.over()}
		if was, over, ok := before(id); ok {
			scale := c.Over.Seconds() / over.Seconds()
			slower, more := split(cost{was.Calls * scale, was.Seconds * scale}, cost{d.Calls, d.Seconds})
			c.SlowerCalls, c.MoreCalls = &slower, &more
		}
		out = append(out, c)
	}
	by.Sort(out)
	total := 0.0
	for _, c := range out { // in one order, so that the sum is always the same
		total += c.Seconds
	}
	for i := range out {
		if total > 0 {
			out[i].Share = out[i].Seconds / total
		}
	}
	return out
}

// at finds the look that is nearest to a moment.
func (st *statements) at(when time.Time) (best int) {
	for i, l := range st.looks {
		if l.at.Sub(when).Abs() < st.looks[best].at.Sub(when).Abs() {
			best = i
		}
	}
	return best
}

// forgot tells whether the server threw statements out in the time that changes are about.
func (st *statements) forgot() bool {
	now := len(st.looks) - 1
	return now > 0 && st.looks[now].forgotten != st.looks[st.at(st.looks[now].at.Add(-minute))].forgotten
}

// since is what a statement cost between an earlier look and this one.
func (l statementLook) since(was statementLook, id string) (series.Statement, bool) {
	if l.of[id].ID == series.UnlistedID {
		return l.unlisted(was, id)
	}
	return was.differ(id, l)
}

// unlisted is what those cost that are not listed at both looks: what all did, less what is known of each. It is
// not known where some were thrown out or reset, or an earlier look has not all.
func (l statementLook) unlisted(was statementLook, id string) (series.Statement, bool) {
	d := l.of[id]
	d.Calls, d.Seconds, d.Examined, d.Returned, d.Bytes = 0, 0, nil, nil, nil
	if _, whole := was.of[id]; !whole && len(was.of) >= series.MostStatements-1 || l.forgotten != was.forgotten {
		return d, false
	}
	before, after := was.all(), l.all()
	d.Calls, d.Seconds = after.calls-before.calls, after.seconds-before.seconds
	for _, one := range slices.Sorted(maps.Keys(l.of)) {
		known, ok := was.differ(one, l)
		switch {
		case one == id:
		case was.anew(one, l.of[one]):
			return d, false
		case ok:
			d.Calls, d.Seconds = d.Calls-known.Calls, d.Seconds-known.Seconds
		}
	}
	return d, d.Calls >= 0 && d.Seconds >= 0
}

// anew tells whether a statement of this look was thrown out or reset since, and counts anew. One that began when it did
// before is the same, however late that seems to be: the clock can have been set back since.
func (l statementLook) anew(id string, now series.Statement) bool {
	was, seen := l.of[id]
	return seen && (now.Calls < was.Calls || now.Seconds < was.Seconds || l.before(now.Since) && !now.Since.Equal(was.Since))
}

// before tells whether this look is before a moment, which some servers tell in whole seconds.
func (l statementLook) before(t time.Time) bool { return !t.Before(l.at.Truncate(time.Second)) }

// all is what all statements of a look cost, added up in one order, so that the sum is always the same.
func (l statementLook) all() (c cost) {
	for _, id := range slices.Sorted(maps.Keys(l.of)) {
		c.calls, c.seconds = c.calls+l.of[id].Calls, c.seconds+l.of[id].Seconds
	}
	return c
}

// differ is what a statement cost between this look and a later one. Of one that was not among those seen at this one,
// that is known only when it began to be counted since, and not in the future, as it seems to after the clock was set back.
// One whose counters fell began anew, and what it counts now is since then, unless it is said to be older.
func (l statementLook) differ(id string, later statementLook) (series.Statement, bool) {
	now := later.of[id]
	if now.ID == "" {
		return now, false // it was not seen at the later look
	}
	was, seen := l.of[id]
	if !seen {
		return now, l.before(now.Since) && !now.Since.After(later.at.Add(Length))
	}
	if l.anew(id, now) {
		return now, now.Since.IsZero() || l.before(now.Since)
	}
	d := now
	d.Calls, d.Seconds = now.Calls-was.Calls, now.Seconds-was.Seconds
	d.Examined, d.Returned, d.Bytes = minus(now.Examined, was.Examined), minus(now.Returned, was.Returned), minus(now.Bytes, was.Bytes)
	return d, true
}

func minus(a, b *float64) *float64 {
	if a == nil || b == nil || *a < *b {
		return nil
	}
	d := *a - *b
	return &d
}

// split says what part of a change in seconds is because each call is more expensive,
// and what part because there are more:
// n2·t2 − n1·t1 = (n2−n1)·t1 + n2·(t2−t1).
func split(was, is cost) (slower, more float64) {
	switch {
	case was.calls <= 0:
		return 0, is.seconds
	case is.calls <= 0:
		return 0, -was.seconds
	}
	t1, t2 := was.seconds/was.calls, is.seconds/is.calls
	return is.calls * (t2 - t1), (is.calls - was.calls) * t1
}

// restID is the id of the line that stands for those that are not shown.
const restID = "rest"

// rest makes one line of the statements that are not shown, because they are in no order among the first, and one of
// our own.
func rest(all []StatementChange) []StatementChange {
	n := slices.IndexFunc(all, func(s StatementChange) bool { return s.Own() })
	if n < 0 {
		n = len(all)
	}
	shown := make([]bool, n)
	for _, by := range AllOrders {
		for i, place := range by.Places(all[:n]) {
			shown[i] = shown[i] || place < mostStatements
		}
	}
	var out, left []StatementChange
	for i, s := range all[:n] {
		if shown[i] {
			out = append(out, s)
		} else {
			left = append(left, s)
		}
	}
	if len(left) > 0 {
		out = append(out, together(left, series.Statement{Of: left[0].Of, ID: restID, Rest: true}))
	}
	if own := all[n:]; len(own) > 0 {
		out = append(out, together(own, series.Statement{Of: own[0].Of, ID: "own", Text: series.OwnMark + "what Plumb itself asks"}))
	}
	return out
}

// together is what several statements cost.
func together(all []StatementChange, as series.Statement) StatementChange {
	r := StatementChange{Statement: as, Over: all[0].Over}
	for _, s := range all {
		r.Calls, r.Seconds, r.Share = r.Calls+s.Calls, r.Seconds+s.Seconds, r.Share+s.Share
	}
	return r
}
