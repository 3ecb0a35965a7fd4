package stack

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// OverTime says what a fact does as time goes by, and so what the difference
// of two readings means.
type OverTime string

// What facts do over time.
const (
	Counter OverTime = "counter" // only grows until it begins anew: its difference over the time is a rate
	Gauge   OverTime = "gauge"   // moves with the work: each reading stands for its moment
	State   OverTime = "state"   // stays until somebody changes it: a difference is an event
	Average OverTime = "average" // over all the time since something began: it says next to nothing of the time between two readings
)

// Times tells what the catalogue says of facts over time.
type Times interface {
	// OverTime is what the fact does as time goes by.
	OverTime(kind, fact string) OverTime
	// Since gives the fact that tells how many seconds a counter has counted:
	// of the thing itself, or of the host. "" when there is none.
	Since(kind, fact string) (of string, ofHost bool)
}

// Difference is what happened between two stacks of one host.
type Difference struct {
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	Began   []Ref     `json:"began"` // things of the second that the first did not have
	Ended   []Ref     `json:"ended"`
	Changes []Change  `json:"changes"` // sorted by thing and name; facts that nobody read both times are not among them
}

// Change is what became of one fact.
type Change struct {
	Of       Ref      `json:"of"`
	Name     string   `json:"name"`
	OverTime OverTime `json:"over_time"`
	Before   Value    `json:"before"`
	After    Value    `json:"after"`
	// By is what a number grew by; nil when that is not known, or it is no number.
	By *float64 `json:"by,omitempty"`
	// PerSecond is the rate of a counter, over the time it counted.
	PerSecond *float64 `json:"per_second,omitempty"`
	// Anew says that a counter began anew in between: By is then the part that
	// was counted since, and what came before is not known.
	Anew bool `json:"anew,omitempty"`
}

// drift is how far apart the moment a stack bears and the moment a fact was
// read may be, and how exact clocks are.
const drift = 15 * time.Second

// Since gives what happened from one stack to a later one of the same host.
// Gauges and states are listed when they differ, counters always, because one
// that stood still says something.
func Since(before, after *Stack, times Times) (Difference, error) {
	d := Difference{From: before.TakenAt, To: after.TakenAt}
	if !d.To.After(d.From) {
		return d, fmt.Errorf("the second stack was read at %s, which is not after %s", d.To.Format(time.RFC3339), d.From.Format(time.RFC3339))
	}
	if a, b := before.Host(), after.Host(); a != nil && b != nil && a.Text("hostname") != b.Text("hostname") {
		return d, errors.New("these are two hosts: " + a.Text("hostname") + " and " + b.Text("hostname"))
	}
	for _, t := range before.Things {
		if after.Find(t.Ref) == nil {
			d.Ended = append(d.Ended, t.Ref)
		}
	}
	for _, t := range after.Things {
		was := before.Find(t.Ref)
		if was == nil {
			d.Began = append(d.Began, t.Ref)
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
			if _, known := was.Facts[name]; known {
				d.add(pair{name, was, t, before.Host(), after.Host()}, times)
			}
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b Change) int { return cmp.Or(a.Of.Compare(b.Of), cmp.Compare(a.Name, b.Name)) })
	return d, nil
}

// pair is one fact at two moments.
type pair struct {
	name                string
	before, after       *Thing
	hostBefore, hostNow *Thing
}

func (d *Difference) add(p pair, times Times) {
	c := Change{Of: p.after.Ref, Name: p.name, OverTime: times.OverTime(p.after.Ref.Kind, p.name),
		Before: p.before.Facts[p.name].Value, After: p.after.Facts[p.name].Value}
	a, isNumber := c.Before.Number()
	b, still := c.After.Number()
	switch {
	case c.OverTime == Counter && isNumber && still:
		c.count(a, b, d.To.Sub(d.From), p, times)
	case c.OverTime == Average, c.Before.Equal(c.After):
		return
	case isNumber && still:
		c.By = ptr(b - a)
	}
	d.Changes = append(d.Changes, c)
}

// count gives a counter's rate. One that began anew has counted since its
// server, or the machine, started; when that was not read, nothing is known.
func (c *Change) count(before, after float64, elapsed time.Duration, p pair, times Times) {
	counted, known, anew := p.counted(elapsed, times)
	c.Anew = anew || after < before
	switch {
	case !c.Anew:
		c.By = ptr(after - before)
		c.PerSecond = ptr(*c.By / elapsed.Seconds())
	case anew && known:
		c.By = &after
		if counted > 0 {
			c.PerSecond = ptr(after / counted)
		}
	}
}

// counted gives for how many seconds a counter has counted by now, and whether
// it began within the time that elapsed.
func (p pair) counted(elapsed time.Duration, times Times) (seconds float64, known, anew bool) {
	since, ofHost := times.Since(p.after.Ref.Kind, p.name)
	before, now := p.before, p.after
	if ofHost {
		before, now = p.hostBefore, p.hostNow
	}
	if since == "" || before == nil || now == nil {
		return 0, false, false
	}
	was, ok := before.Number(since)
	is, ok2 := now.Number(since)
	if !ok || !ok2 {
		return 0, false, false
	}
	// Its age is less than it would be, by more than clocks explain, and it
	// began after the first reading.
	anew = is < was || is+drift.Seconds() < was+elapsed.Seconds() && is < elapsed.Seconds()+drift.Seconds()
	return is, true, anew
}

func ptr(f float64) *float64 { return &f }
