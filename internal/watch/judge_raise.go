package watch

import (
	"cmp"
	"slices"
	"time"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

// When a verdict is raised and cleared.
const (
	look    = 5  // windows that are looked at
	raise   = 3  // of them must say so
	cleared = 4  // in a row must say it is not so
	mute    = 12 // in a row that cannot tell: then nobody can say that it still is so
	few     = 2  // likewise of a server that had little to do: one that is gone has not
)

// How much of the past a moment shows.
const (
	shown     = time.Hour
	mostSpans = 200
)

// key is a verdict about a server.
type key struct {
	id     string
	server stack.Ref
}

// said is what one window says of a verdict about a server, over all things it
// was asked about.
type said struct {
	outcome rule.Outcome
	fires   []rule.Limited
	quiet   []rule.Limited
	missing []rule.Missing
}

// add joins what a limit says of one combination of things: it holds if it holds for one of them, and is known not to hold only if
// that is known for all.
func (w *judged) add(v rule.Limited) {
	k := key{v.Limit.ID, v.Server}
	s := w.said[k]
	if s == nil {
		s = &said{outcome: rule.Quiet}
		w.said[k] = s
	}
	switch v.Outcome {
	case rule.Fires:
		s.fires, s.outcome = append(s.fires, v), rule.Fires
	case rule.Quiet:
		s.quiet = append(s.quiet, v)
	default:
		if s.outcome == rule.Quiet {
			s.outcome = rule.Unknown
		}
		for _, m := range v.Missing {
			if !slices.ContainsFunc(s.missing, func(h rule.Missing) bool { return h.Of == m.Of && h.Name == m.Name }) {
				s.missing = append(s.missing, m)
			}
		}
	}
}

// of is what a window says of a verdict that was last raised about some things. If it no longer holds for these, it does not
// matter that it is unknown for others, about which it was not raised.
func (s *said) of(about []rule.Limited) rule.Outcome {
	untold := func(v rule.Limited) bool {
		return !slices.ContainsFunc(s.quiet, func(q rule.Limited) bool { return slices.Equal(q.Things, v.Things) })
	}
	if s.outcome == rule.Unknown && len(about) > 0 && !slices.ContainsFunc(about, untold) {
		return rule.Quiet
	}
	return s.outcome
}

// standing is how a verdict about a server stands over time.
type standing struct {
	lately []rule.Outcome // newest last
	began  []time.Time    // of those windows
	raised bool
	since  time.Time
	last   time.Time      // end of the last window that said so
	about  []rule.Limited // what that window said
	best   rule.Limited   // the most expensive of it
	things []stack.Ref
	share  *Interval // the largest
}

// raise updates the standing verdicts with a window.
func (j *Judge) raise(w *judged) {
	for k := range j.standing {
		if w.said[k] == nil { // its server is gone
			w.said[k] = &said{outcome: rule.Unknown}
		}
	}
	for k, s := range w.said {
		st := j.standing[k]
		if st == nil {
			st = &standing{}
			j.standing[k] = st
		}
		st.update(s, w.to)
		if st.raised && (st.ended() || k.id == Idle && st.is(few, rule.Unknown)) {
			j.end(k, st)
		}
		if !st.raised && len(s.fires)+len(s.quiet)+len(s.missing) == 0 && st.is(mute, rule.Unknown) {
			delete(j.standing, k)
			delete(w.said, k)
		}
	}
	for _, k := range j.replaced() {
		j.end(k, j.standing[k])
	}
	slices.SortFunc(j.over, spanOrder)
	j.over = slices.DeleteFunc(j.over, func(s Span) bool { return s.To.Before(w.to.Add(-shown)) })
	j.over = j.over[max(0, len(j.over)-mostSpans):]
	clear(j.devices.loaded)
	for k, st := range j.standing {
		if st.raised && k.id != Idle {
			for _, t := range st.things {
				j.devices.loaded[t] = true
			}
		}
	}
}

// end clears a verdict.
func (j *Judge) end(k key, st *standing) {
	j.over = append(j.over, st.span(k, st.last))
	st.raised = false
}

// setBack is called when the clock is set back to now. A verdict that began later than that ends at its last moment and begins
// again now, so that none has a negative length or begins in the future.
func (j *Judge) setBack(now time.Time) {
	for k, st := range j.standing {
		if st.raised && st.since.After(now) {
			j.end(k, st)
			st.raised, st.since = true, now
		}
		if st.last.After(now) {
			st.last = now
		}
	}
}

// replaced lists the verdicts that seem to hold no longer, while another one about the same things was raised since. Both cannot
// be true, so the older one is cleared early.
func (j *Judge) replaced() (out []key) {
	for k, st := range j.standing {
		if !st.raised || !st.is(raise, rule.Quiet) {
			continue
		}
		for by, newer := range j.standing {
			if by.server == k.server && newer.raised && !newer.since.Before(st.last) && meet(st.things, newer.things) {
				out = append(out, k)
				break
			}
		}
	}
	return out
}

// meet tells whether something is in both.
func meet(a, b []stack.Ref) bool {
	return slices.ContainsFunc(a, func(of stack.Ref) bool { return slices.Contains(b, of) })
}

func spanOrder(a, b Span) int {
	return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.ID, b.ID), a.Server.Compare(b.Server))
}

func (st *standing) update(s *said, to time.Time) {
	st.lately, st.began = append(st.lately, s.of(st.about)), append(st.began, to.Add(-Length))
	if n := len(st.lately) - mute; n > 0 {
		st.lately, st.began = slices.Clone(st.lately[n:]), slices.Clone(st.began[n:])
	}
	if s.outcome == rule.Fires {
		st.last, st.about, st.best, st.things = to, s.fires, costliest(s.fires), nil
		for _, v := range s.fires {
			for _, t := range v.Things {
				if !slices.Contains(st.things, t) {
					st.things = append(st.things, t)
				}
			}
		}
		if i := intervalOf(st.best); i != nil && st.raised && (st.share == nil || i.Value > st.share.Value) {
			st.share = i
		}
	}
	if st.raised {
		return
	}
	newest := st.lately[max(0, len(st.lately)-look):]
	n, first := 0, -1
	for i, o := range newest {
		if o == rule.Fires {
			if n++; first < 0 {
				first = i
			}
		}
	}
	if n >= raise {
		st.raised, st.share = true, intervalOf(st.best)
		st.since = st.began[len(st.began)-len(newest)+first]
	}
}

// ended tells whether a verdict that is raised holds no more.
func (st *standing) ended() bool { return st.is(cleared, rule.Quiet) || st.is(mute, rule.Unknown) }

// is tells whether the newest n windows all said one thing.
func (st *standing) is(n int, what rule.Outcome) bool {
	if len(st.lately) < n {
		return false
	}
	return !slices.ContainsFunc(st.lately[len(st.lately)-n:], func(o rule.Outcome) bool { return o != what })
}

// costliest is what costs the largest share, of those known; else the first.
func costliest(all []rule.Limited) rule.Limited {
	return slices.MaxFunc(all, func(a, b rule.Limited) int { return cmp.Compare(value(a.Share), value(b.Share)) })
}

func value(p *float64) float64 {
	if p == nil {
		return -1
	}
	return *p
}

// intervalOf is the share of a verdict with its interval: a number without one would look exact.
func intervalOf(v rule.Limited) *Interval {
	if v.Share == nil || v.Low == nil || v.High == nil {
		return nil
	}
	return &Interval{*v.Share, *v.Low, *v.High}
}

func (st *standing) span(k key, to time.Time) Span {
	return Span{ID: k.id, Server: k.server, Things: slices.Clone(st.things), Title: st.best.Title, Share: st.share, From: st.since, To: to}
}
