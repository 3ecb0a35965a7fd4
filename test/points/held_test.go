package points

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/protect"
	"plumb/test/sandbox"
)

// TestHeld measures what locked points cost a server under plumb load tpcc. It starts no copies. Ten points
// in a row, half a second apart, take turns with seconds in which none is taken. PLUMB_POINTS says how many
// points are taken on each storage.
func TestHeld(t *testing.T) {
	sandbox.NeedTime(t, "200 points on each storage take some minutes: PLUMB_REAL=full, or PLUMB_REAL=1 for a few")
	n := count(t, "PLUMB_POINTS", 200, 20)
	everywhere(t, []family{families[0], fetched[0]}, 4096, func(t *testing.T, b *bench) {
		b.prepareWork(t)
		h := held{bench: b, plan: b.plan(t)}
		for turn := 0; len(h.cost.held) < n; turn++ {
			parts := []func(*testing.T, uint64){h.points, h.none}
			if turn%2 == 1 { // what comes second is not always the same
				slices.Reverse(parts)
			}
			for i, part := range parts {
				part(t, uint64(2*turn+i+1))
			}
			h.destroy(t)
		}
		h.print()
	})
}

const (
	inARow  = 10                     // points in one turn
	apart   = 500 * time.Millisecond // from one to the next, at least
	without = 3 * time.Second        // in which no point is taken
	settled = time.Second            // in which the load begins
)

// held is what points cost.
type held struct {
	*bench
	plan      protect.Plan
	taken     []protect.Point
	cost      series
	idle      []time.Duration // the longest transaction of each turn without points
	with, not pace
	gaveUp    int           // points that were not had, as the lock was not granted in time
	again     int           // points that were not had at the first try
	tries     int           // that failed
	longest   time.Duration // of these
}

// pace is how many transactions were done in a time.
type pace struct {
	done int64
	time time.Duration
}

func (p pace) perSecond() float64 { return float64(p.done) / p.time.Seconds() }

// measured runs the load meanwhile, and adds what it did.
func (h *held) measured(t *testing.T, seed uint64, to *pace, stall *[]time.Duration, f func()) {
	t.Helper()
	load := h.press(t, seed, "", settled)
	time.Sleep(settled + 50*time.Millisecond)
	f()
	res := load.stop()
	to.done, to.time = to.done+res.Total.Done, to.time+res.Measured
	*stall = append(*stall, res.Total.Response.Summary().Max)
}

func (h *held) points(t *testing.T, seed uint64) {
	h.measured(t, seed, &h.with, &h.cost.stall, func() {
		for range inARow {
			next := time.Now().Add(apart)
			p, err := h.Take(t.Context(), h.plan, protect.TakeOptions{Mode: protect.ModeLocked})
			if err != nil && strings.Contains(err.Error(), "given up after") { // as is right where commits take longer than that
				h.giveUp(t, err)
			} else {
				must(t, err)
				h.took(t, p)
			}
			time.Sleep(time.Until(next))
		}
	})
}

func (h *held) took(t *testing.T, p protect.Point) {
	t.Helper()
	if p.Label != protect.Locked {
		t.Errorf("%s is labelled %s, doubts %q", p.ID, p.Label, p.Doubts)
	}
	h.taken = append(h.taken, p)
	h.cost.held, h.cost.storage = append(h.cost.held, p.Times.Held-p.Times.Storage), append(h.cost.storage, p.Times.Storage)
	if f := p.Times.Failed; f != nil {
		h.again, h.tries, h.longest = h.again+1, h.tries+f.Tries, max(h.longest, f.Longest)
	}
}

// giveUp notes a point that was not had. More than a few of them are the fault of the machine only if much else runs on it: of
// the load and the server, no more wants a processor than there are terminals.
func (h *held) giveUp(t *testing.T, why error) {
	t.Helper()
	if h.gaveUp++; h.gaveUp <= inARow || h.gaveUp <= len(h.cost.held) {
		t.Log(why)
		return
	}
	var load float64
	text, err := os.ReadFile("/proc/loadavg")
	must(t, err)
	_, err = fmt.Sscan(string(text), &load)
	must(t, err)
	if busy := float64(2 * (terminals + runtime.NumCPU())); load >= busy {
		t.Skipf("%d of %d points were not had, at a load of %.0f: %v", h.gaveUp, h.gaveUp+len(h.cost.held), load, why)
	}
	t.Fatalf("%d of %d points were not had: %v", h.gaveUp, h.gaveUp+len(h.cost.held), why)
}

func (h *held) none(t *testing.T, seed uint64) {
	h.measured(t, seed, &h.not, &h.idle, func() { time.Sleep(without) })
}

// destroy takes the points away while nobody measures.
func (h *held) destroy(t *testing.T) {
	t.Helper()
	for _, p := range h.taken {
		must(t, h.Destroy(t.Context(), p.ID))
	}
	h.taken = nil
}

func (h *held) print() {
	fmt.Printf("%s locked on %s, %d points under plumb load tpcc, and %d given up:\n  held, less the storage's own snapshot: %s\n  before, %d tries failed, of %d points, the longest after %s\n  the storage's snapshot: %s\n"+
		"  the longest transaction: %s with points, %s without\n  transactions a second: %.0f with %.1f points a second, %.0f without: %+.0f %%\n",
		h.plan.Server.Product, h.under, len(h.cost.held), h.gaveUp, spread(h.cost.held), h.tries, h.again, h.longest.Round(time.Millisecond/10), spread(h.cost.storage), slices.Max(h.cost.stall).Round(time.Millisecond), slices.Max(h.idle).Round(time.Millisecond),
		h.with.perSecond(), float64(len(h.cost.held))/h.with.time.Seconds(), h.not.perSecond(), 100*(h.with.perSecond()/h.not.perSecond()-1))
}
