package model

import (
	"bytes"
	"container/list"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// cacheOf is a cache that drops what was used least recently, done plainly.
type cacheOf struct {
	most int
	list *list.List
	at   map[uint64]*list.Element
}

func newCache(most int) *cacheOf { return &cacheOf{most, list.New(), map[uint64]*list.Element{}} }

func (c *cacheOf) read(block uint64) (hit bool) {
	if e := c.at[block]; e != nil {
		c.list.MoveToFront(e)
		return true
	}
	c.at[block] = c.list.PushFront(block)
	if c.list.Len() > c.most {
		last := c.list.Back()
		delete(c.at, c.list.Remove(last).(uint64))
	}
	return false
}

// reads draws blocks by a Zipf law.
func reads(n int, blocks uint64, skew float64, seed uint64, do func(uint64)) {
	z := rand.NewZipf(rand.New(rand.NewPCG(seed, 2)), skew, 1, blocks-1)
	for range n {
		do(spreadBits(z.Uint64()) >> 8) // numbers that say nothing of how hot they are
	}
}

// TestTraceAgainstRealCaches: the sample says of caches of four sizes what caches
// that were really kept did.
func TestTraceAgainstRealCaches(t *testing.T) {
	for _, skew := range []float64{1.05, 1.3} {
		trace := newTrace()
		sizes := []int{500, 5000, 20000, 60000}
		missed := make([]int, len(sizes))
		var caches []*cacheOf
		for _, n := range sizes {
			caches = append(caches, newCache(n))
		}
		const n = 400000
		reads(n, 200000, skew, 1, func(b uint64) {
			trace.Read(b)
			for i, c := range caches {
				if !c.read(b) {
					missed[i]++
				}
			}
		})
		for i, blocks := range sizes {
			want, got := float64(missed[i])/n, trace.miss(float64(blocks))
			t.Logf("skew %.2f, %d blocks: missed %.3f, told %.3f", skew, blocks, want, got)
			if math.Abs(got-want) > 0.02 {
				t.Errorf("skew %.2f, %d blocks: missed %.3f, told %.3f", skew, blocks, want, got)
			}
		}
		if len(trace.last) > sampledBlocks {
			t.Errorf("%d blocks are held, and %d are the most", len(trace.last), sampledBlocks)
		}
	}
}

// TestCheAgainstRealCaches: the approximation says of even and of uneven reads
// what a cache that was really kept did.
func TestCheAgainstRealCaches(t *testing.T) {
	const blocks, n = 20000, 400000
	for _, p := range []Popularity{{Skew: 1}, {Skew: 0.3}, Pareto(0.2), {Skew: 0.2, Even: 0.5}} {
		for _, held := range []float64{0.05, 0.3, 0.7} {
			cache := newCache(int(held * blocks))
			random := rand.New(rand.NewPCG(3, 4))
			missed, counted := 0, 0
			for i := range n {
				q := random.Float64()
				if random.Float64() >= p.Even {
					q = math.Pow(q, 1/p.Skew) // the part q of the data gets q^skew of the reads
				}
				if hit := cache.read(uint64(q * blocks)); i > n/2 {
					counted++
					if !hit {
						missed++
					}
				}
			}
			want, got := float64(missed)/float64(counted), p.misses().at(held)
			if math.Abs(got-want) > 0.015 {
				t.Errorf("%+v with %.2f held: missed %.3f, told %.3f", p, held, want, got)
			}
		}
	}
	if (Popularity{Skew: 0.5}).misses().at(1) != 0 || (Popularity{Skew: 0.5}).misses().at(0) != 1 {
		t.Error("a cache of everything misses, or one of nothing hits")
	}
}

func TestTraceRefuses(t *testing.T) {
	trace := newTrace()
	for b := range uint64(10) {
		trace.Read(b)
	}
	if r := trace.Predict(1<<20, 16384); r.Refusal == nil || !strings.Contains(r.Refusal.Why, "too few") {
		t.Errorf("ten reads: %+v", r)
	}
	reads(100000, 5000, 1.2, 1, trace.Read)
	if r := trace.Predict(1<<20, 0); r.Refusal == nil {
		t.Error("blocks of no size")
	}
	if r := trace.Predict(1<<40, 16384); r.Refusal == nil || !strings.Contains(r.Refusal.Measure, "trace for longer") {
		t.Errorf("far more than was read: %+v", r)
	}
	if r := trace.Predict(8<<20, 16384); r.Refusal != nil || r.Values[0].Value <= 0 || r.Values[0].Value >= 1 {
		t.Errorf("a good trace: %+v", r)
	}
}

// TestFewReadsTellLess: of 1,000 reads, half of which miss, the next 1,000 may miss 3.1 points more or less by chance
// (1.96 × √(0.5 × 0.5 / 1,000)); of many it is the sample that counts.
func TestFewReadsTellLess(t *testing.T) {
	half := func(n int) float64 {
		trace, r := newTrace(), rand.New(rand.NewPCG(1, 3))
		for range n {
			trace.Read(spreadBits(r.Uint64N(200)))
		}
		v := trace.Predict(100*16384, 16384).Values[0]
		if math.Abs(v.Value-0.5) > 0.15 {
			t.Errorf("half of the blocks hold, and %.2f of %d reads miss", v.Value, n)
		}
		return (v.High - v.Low) / 2
	}
	if few := half(1000); math.Abs(few-0.031) > 0.002 {
		t.Errorf("of 1,000 reads: %.4f to each side", few)
	}
	if many := half(100000); math.Abs(many-0.02) > 1e-9 {
		t.Errorf("of 100,000 reads: %.4f to each side", many)
	}
}

func TestGhosts(t *testing.T) {
	g := Ghosts{Cache: gib, Kept: gib, Hits: 3000, Misses: 10000, Reads: 100000, Of: "ARC"}
	if v := g.Predict(2 * gib).Values[0]; math.Abs(v.Value-0.07) > 1e-9 || v.Low != v.Value || v.High != v.Value {
		t.Errorf("twice the cache, with which all ghosts are hits: %+v", v)
	}
	// Of what lies between it is not known which ghosts are hit: all of them, or none.
	if v := g.Predict(1.5 * gib).Values[0]; math.Abs(v.Value-0.085) > 1e-9 || math.Abs(v.Low-0.07) > 1e-9 || v.High != 0.1 {
		t.Errorf("half as much again: %+v", v)
	}
	if v := g.Predict(gib).Values[0]; v.Value != 0.1 {
		t.Errorf("the same cache: %+v", v)
	}
	for _, x := range []struct {
		g  Ghosts
		at float64
	}{{Ghosts{}, gib}, {g, gib / 2}, {g, 3 * gib}, {Ghosts{Cache: gib, Hits: 1, Misses: 10, Reads: 100}, gib}, {Ghosts{Cache: gib, Hits: 20000, Misses: 10000, Reads: 100000}, gib}} {
		if r := x.g.Predict(x.at); r.Refusal == nil || r.Refusal.Measure == "" {
			t.Errorf("%+v at %g is not refused", x.g, x.at)
		}
	}
}

func FuzzReadTrace(f *testing.F) {
	f.Add([]byte("1\n2\n1\n"))
	f.Add([]byte("\n \r\nsda 7"))
	f.Fuzz(func(t *testing.T, data []byte) {
		trace, err := ReadTrace("fuzz", bytes.NewReader(data))
		if err != nil {
			return
		}
		if m := trace.miss(2); !(m >= 0 && m <= 1) {
			t.Errorf("a cache of two blocks misses %g of the reads", m)
		}
		trace.Predict(1<<20, 4096)
	})
}
