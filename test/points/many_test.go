package points

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"plumb/internal/load"
	"plumb/internal/load/durability"
	"plumb/internal/load/tpcc"
	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/test/sandbox"
)

// TestManyPoints takes points of servers under plumb load tpcc and starts a copy of each: it must hold
// every commit that the load's ledger had when the point was begun. PLUMB_POINTS says how many points
// are taken of each server, divided among the storages and modes.
func TestManyPoints(t *testing.T) {
	sandbox.NeedTime(t, "copies of hundreds of points take an hour: PLUMB_REAL=full, or PLUMB_REAL=1 for a few")
	n := count(t, "PLUMB_POINTS", 200, 8)
	everywhere(t, slices.Concat(families, fetched), 6144, func(t *testing.T, b *bench) {
		began := time.Now()
		b.prepareWork(t)
		t.Logf("the rows were there after %s", time.Since(began).Round(time.Second))
		plan := b.plan(t)
		modes := possible(plan)
		m := many{bench: b, plan: plan, dir: ledgers(t)}
		all, each := make([]series, len(modes)), (n+len(grounds)*len(modes)-1)/(len(grounds)*len(modes))
		for i := range each {
			for of, mode := range modes { // by turns, as the speed of a shared machine wanders
				m.take(t, mode, &all[of], i == each-1)
			}
		}
		for of, mode := range modes {
			m.print(mode, all[of])
		}
	})
}

// many is a series of points of one server.
type many struct {
	*bench
	plan  protect.Plan
	dir   string   // of the ledgers
	whole []string // ledgers of runs that have ended
}

// series is what points of one mode cost.
type series struct {
	held, storage, stall, start, each []time.Duration
	acknowledged                      int64
	bad                               int
}

// take takes another point of a mode. last is the last of it.
func (m *many) take(t *testing.T, mode string, s *series, last bool) {
	t.Helper()
	began := time.Now()
	err := m.one(t, mode, s, last)
	s.each = append(s.each, time.Since(began))
	if err != nil {
		s.bad++
		t.Errorf("point %d of mode %s: %v", len(s.each), mode, err)
	}
	t.Logf("point %d of mode %s took %s; %d commits acknowledged before these, %d bad", len(s.each), mode, time.Since(began).Round(time.Second/10), s.acknowledged, s.bad)
}

// print says what came of a mode.
func (m *many) print(mode string, s series) {
	lock := "no lock"
	if mode == protect.ModeLocked {
		lock = "held, less the storage's own snapshot: " + spread(s.held)
	}
	fmt.Printf("%s %s on %s: %d points, %d bad, %d commits acknowledged before them; %s; the storage's snapshot: %s; the longest transaction of each run: %s; copy up after: %s; all of it took: %s\n",
		m.plan.Server.Product, mode, m.under, len(s.each), s.bad, s.acknowledged, lock, spread(s.storage), spread(s.stall), spread(s.start), spread(s.each))
}

// one takes a point in the midst of a run of the load, and starts a copy of it.
func (m *many) one(t *testing.T, mode string, s *series, last bool) error {
	t.Helper()
	name := filepath.Join(m.dir, fmt.Sprintf("run%03d", len(m.whole)))
	load := m.press(t, uint64(len(m.whole)+1), name, 0)
	time.Sleep(time.Duration(100+137*len(m.whole)%500) * time.Millisecond) // wherever the server is just then
	kept := load.acknowledgedBy(t, 20)
	p, err := m.Take(t.Context(), m.plan, protect.TakeOptions{Mode: mode})
	res := load.stop()
	m.whole = append(m.whole, name)
	if err != nil {
		return err
	}
	s.held, s.storage, s.stall = append(s.held, p.Times.Held-p.Times.Storage), append(s.storage, p.Times.Storage), append(s.stall, res.Total.Response.Summary().Max)
	err = m.starts(t, p, kept, last, s)
	if err == nil && mode != protect.ModeCrash && p.Label != protect.Locked {
		err = fmt.Errorf("it is labelled %s, doubts %q", p.Label, p.Doubts)
	}
	must(t, m.Destroy(t.Context(), p.ID))
	if err != nil {
		return fmt.Errorf("%s at %s: %w", p.ID, p.Position, err)
	}
	return nil
}

// starts starts a copy of a point, and looks at where it stands and what it holds.
func (m *many) starts(t *testing.T, p protect.Point, kept string, last bool, s *series) error {
	t.Helper()
	c, err := m.maker.Make(t.Context(), p, instance.Options{Name: "many-" + p.ID, Purpose: protect.ForDrill, Number: 1, Memory: 512 << 20}) // as much as a drill gives
	if err != nil {
		return err
	}
	defer func() { must(t, c.Remove(context.WithoutCancel(t.Context()))) }()
	began := time.Now()
	a, err := c.Start(t.Context(), 2*time.Minute)
	if err != nil {
		return err
	}
	defer a.Close()
	s.start = append(s.start, time.Since(began))
	e, err := m.EngineOf(p.Server)
	if err != nil {
		return err
	}
	at, err := e.Recovered(t.Context(), a, c.Copy)
	if err != nil {
		return err
	}
	// MySQL's locked points are exact. PostgreSQL's must have come at least to where the server was.
	if why := e.Same(p.Position, at); why != "" && (p.Mode == protect.ModeLocked || m.server.Engine == "postgres") {
		return fmt.Errorf("the position: %s", why)
	}
	if m.server.Engine != "postgres" { // these are compared with the point by their check
		reached, err := e.Reached(t.Context(), a, c.Copy, at)
		if err != nil {
			return err
		}
		all, err := e.Check(t.Context(), a, c.Copy, false)
		if err != nil {
			return err
		}
		for _, one := range append(all, reached) {
			if one.Wrong+one.Unknown != "" {
				return fmt.Errorf("%s: %s%s", one.What, one.Wrong, one.Unknown)
			}
		}
	}
	v, err := m.verify(t.Context(), a, kept)
	if err != nil {
		return err
	}
	s.acknowledged += v.Acknowledged
	if last {
		return m.all(t, a, c)
	}
	return nil
}

// all wants that a copy holds what was acknowledged in all runs that had ended, and that its tables agree with each other.
func (m *many) all(t *testing.T, a load.Admin, c *instance.Copy) error {
	t.Helper()
	for _, ledger := range m.whole[:len(m.whole)-1] {
		if _, err := m.verify(t.Context(), a, ledger); err != nil {
			return err
		}
	}
	w := m.work(1, (*durability.Ledger)(nil))
	w.Server = m.driven(m.socket(c.Run, 5432))
	r, err := tpcc.Check(t.Context(), w, tpcc.CheckOptions{})
	if err != nil {
		return err
	}
	for _, broken := range r.Broken() {
		err = fmt.Errorf("condition %d, %s, is broken %d times: %q", broken.Number, broken.Rule, broken.Violations, broken.Examples)
	}
	return err
}

// spread gives the median, the 99th percentile and the most.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(q float64) time.Duration {
		return all[min(len(all)-1, int(q*float64(len(all))))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p99 %s, max %s", at(0.5), at(0.99), at(1))
}
