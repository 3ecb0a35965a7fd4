package points

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/internal/protect/instance"
	"plumb/test/sandbox"
)

// TestManyPoints takes points of a server under load, starts a copy of each, and looks for
// every row that was acknowledged before. PLUMB_POINTS says how many of each mode; it prints
// how long locks were held, and the longest commit.
func TestManyPoints(t *testing.T) {
	sandbox.NeedTime(t, "200 points of each mode take half an hour: make test-real")
	n, err := strconv.Atoi(cmp.Or(os.Getenv("PLUMB_POINTS"), "200"))
	must(t, err)
	for _, of := range families {
		t.Run(of.name, func(t *testing.T) {
			b := onPool(t, of)
			db, err := b.server.Open()
			must(t, err)
			defer db.Close()
			w := writing(t, db, of.insert)
			defer w.stop()
			plan := b.plan(t)
			for _, mode := range possible(plan) {
				b.many(t, w, plan, mode, n)
			}
		})
	}
}

// many takes n points of a mode, and says what it cost.
func (b *bench) many(t *testing.T, w *writers, plan protect.Plan, mode string, n int) {
	t.Helper()
	var held, storage, stall, start []time.Duration
	bad := 0
	for i := range n {
		before, _ := w.acknowledged()
		p, err := b.Take(t.Context(), plan, protect.TakeOptions{Mode: mode})
		must(t, err)
		_, slow := w.acknowledged()
		held, storage, stall = append(held, p.Times.Held-p.Times.Storage), append(storage, p.Times.Storage), append(stall, slow)
		took, err := b.bootable(t, p, before)
		if err != nil || mode == protect.ModeLocked && p.Label != protect.Locked {
			bad++
			t.Errorf("%s point %d, %s at %s: %v, doubts %q", mode, i, p.Label, p.Position, err, p.Doubts)
		}
		start = append(start, took)
		must(t, b.Destroy(t.Context(), p.ID))
	}
	lock := "no lock"
	if mode != protect.ModeCrash {
		lock = "lock held, less the storage's own snapshot: " + spread(held)
	}
	fmt.Printf("%s %s on %s: %d points, %d bad; %s; the storage's snapshot: %s; the longest commit while a point was taken: %s; copy up after: %s\n",
		plan.Server.Product, mode, plan.Set.Volumes[0].Storage, n, bad, lock, spread(storage), spread(stall), spread(start))
}

// bootable starts a copy of a point and looks at its rows and its position.
func (b *bench) bootable(t *testing.T, p protect.Point, acknowledged [4]int) (took time.Duration, err error) {
	t.Helper()
	c, err := b.maker.Make(t.Context(), p, instance.Options{Name: "many-" + p.ID, Purpose: protect.ForDrill, Number: 1})
	if err != nil {
		return 0, err
	}
	defer func() { must(t, c.Remove(t.Context())) }()
	began := time.Now()
	a, err := c.Start(t.Context(), true, time.Minute)
	if err != nil {
		return 0, err
	}
	defer a.Close()
	took = time.Since(began)
	e, err := b.EngineOf(p.Server)
	must(t, err)
	at, err := e.Recovered(t.Context(), a, c.Copy)
	if err != nil {
		return took, err
	}
	if why := e.Same(p.Position, at); p.Mode == protect.ModeLocked && why != "" {
		return took, fmt.Errorf("the position: %s", why)
	}
	return took, lost(t.Context(), a, acknowledged)
}

// spread gives the median and the 99th percentile.
func spread(all []time.Duration) string {
	slices.Sort(all)
	at := func(q float64) time.Duration {
		return all[min(len(all)-1, int(q*float64(len(all))))].Round(100 * time.Microsecond)
	}
	return fmt.Sprintf("p50 %s, p99 %s", at(0.5), at(0.99))
}
