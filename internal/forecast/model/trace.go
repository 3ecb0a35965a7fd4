package model

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"slices"

	"plumb/internal/stats"
	"plumb/internal/units"
)

// Trace learns from reads, one after the other, how often caches of any size
// would have missed that drop what was used least recently. It is SHARDS of a
// fixed size (C. Waldspurger and others, FAST 2015): it looks only at blocks whose
// hash is below a threshold, and lowers that when they become too many, so that
// its memory is bounded whatever is read.
type Trace struct {
	threshold uint64
	last      map[uint64]int // of each sampled block: when it was read last
	highest   hashes         // the sampled blocks, the highest hash first
	times     counts         // how many blocks were read last at each time
	clock     int
	reuse     map[int]float64 // by distance bin: reads that came so many blocks after the last one of the same
	cold      float64         // first reads of a block
	seen      float64         // all reads
}

// sampledBlocks is how many blocks a trace looks at: in the paper the error is
// below 0.01 with it.
const sampledBlocks = 8192

// hashSpace is the range of hashes.
const hashSpace = 1 << 32

// binsPerDoubling is how finely distances are kept.
const binsPerDoubling = 16

func newTrace() *Trace {
	return &Trace{threshold: hashSpace, last: map[uint64]int{}, times: newCounts(4 * sampledBlocks), reuse: map[int]float64{}}
}

// spreadBits mixes the bits of a block's number: the finaliser of MurmurHash3.
func spreadBits(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	x ^= x >> 33
	return x
}

// Read takes a read of a block.
func (t *Trace) Read(block uint64) {
	t.seen++
	hash := spreadBits(block) % hashSpace
	if hash >= t.threshold {
		return
	}
	if t.clock == t.times.size() {
		t.compact()
	}
	if before, ok := t.last[block]; ok {
		distance := t.times.after(before)
		t.times.add(before, -1)
		t.reuse[bin(float64(distance)*hashSpace/float64(t.threshold))]++
	} else {
		t.cold++
		heap.Push(&t.highest, hashed{hash, block})
	}
	t.last[block] = t.clock
	t.times.add(t.clock, 1)
	t.clock++
	if len(t.last) > sampledBlocks {
		t.lower()
	}
}

// lower makes the threshold that of the highest block, drops it, and weighs what
// was counted until now by how much less is looked at from now on.
func (t *Trace) lower() {
	before := t.threshold
	t.threshold = t.highest[0].hash
	for len(t.highest) > 0 && t.highest[0].hash >= t.threshold {
		h := heap.Pop(&t.highest).(hashed)
		t.times.add(t.last[h.block], -1)
		delete(t.last, h.block)
	}
	by := float64(t.threshold) / float64(before)
	for k := range t.reuse {
		t.reuse[k] *= by
	}
	t.cold *= by
}

// compact numbers the times of the blocks anew.
func (t *Trace) compact() {
	type at struct {
		block uint64
		time  int
	}
	all := make([]at, 0, len(t.last))
	for b, when := range t.last {
		all = append(all, at{b, when})
	}
	slices.SortFunc(all, func(a, b at) int { return cmp.Compare(a.time, b.time) })
	t.times = newCounts(4 * sampledBlocks)
	for i, a := range all {
		t.last[a.block] = i
		t.times.add(i, 1)
	}
	t.clock = len(all)
}

func bin(distance float64) int {
	return int(math.Ceil(binsPerDoubling * math.Log2(1+distance)))
}

// miss is the part of reads that a cache of so many blocks would have missed.
// Where the sample got more or fewer reads than its share, hot blocks were over-
// or undersampled, and that is put right among the hits of the smallest distance.
func (t *Trace) miss(blocks float64) float64 {
	expected := t.seen * float64(t.threshold) / hashSpace
	if expected == 0 {
		return 1
	}
	missed := t.cold
	for k, n := range t.reuse {
		if k > bin(blocks-1) {
			missed += n
		}
	}
	return min(1, missed/expected)
}

// Blocks is how many different blocks were read, by the sample.
func (t *Trace) Blocks() float64 {
	return float64(len(t.last)) * hashSpace / float64(t.threshold)
}

// sampleError is more than the error of a sample of so many blocks, as published.
const sampleError = 0.02

// leastReads is how many reads of the sample tell a curve.
const leastReads = 1000

// Predict forecasts the misses of a cache of some bytes.
func (t *Trace) Predict(bytes, block float64) Result {
	sampled := t.cold
	for _, n := range t.reuse {
		sampled += n
	}
	switch {
	case !(block > 0):
		return refused("give it with --block 16K", "the size of a block of the trace is not known")
	case sampled < leastReads || t.seen < leastReads:
		return refused(fmt.Sprintf("trace until there are %d reads and most blocks were read twice", leastReads), "there are too few reads: %.0f", t.seen)
	case bytes > 2*t.Blocks()*block:
		return refused("trace for longer, so that more of the data is read", "%s are more than twice the size that was read, %s", units.Size(bytes), units.Size(t.Blocks()*block))
	}
	missed := t.miss(bytes / block)
	// Of few reads the next as many differ by chance: that is more than the error of the sample then.
	off := max(sampleError, 1.96*math.Sqrt(missed*(1-missed)/sampled))
	e := stats.Estimate{Value: missed, Low: max(0, missed-off), High: min(1, missed+off), N: int(sampled)}
	r := Result{Model: "reuse distances of a sample (SHARDS)", Values: []Value{{Name: "misses", Unit: Part, Estimate: e,
		How: fmt.Sprintf("of %.0f reads of %s, %.0f looked at", t.seen, units.Size(t.Blocks()*block), sampled)}}}
	r.Assumptions = []string{
		"the trace is what reaches this cache: behind another cache it shows only that one's misses, and nothing about making that one larger",
		"the cache evicts what was used least recently, or nearly so",
		"the load continues as it was traced",
	}
	even := max(0, 1-bytes/(t.Blocks()*block))
	r.Rivals = []Rival{{Name: "reuse distances", Value: missed, Error: math.NaN(), Weight: 1}, {Name: "even reads", Value: even, Error: math.NaN()}}
	if cold := t.cold / max(sampled, 1); cold > 0.3 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%.0f %% of the reads were the first of their block, which every cache misses: the trace is short for the amount of data", 100*cold))
	}
	return r
}

// hashed is a sampled block.
type hashed struct {
	hash  uint64
	block uint64
}

type hashes []hashed

func (h hashes) Len() int           { return len(h) }
func (h hashes) Less(i, j int) bool { return h[i].hash > h[j].hash }
func (h hashes) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push implements heap.Interface.
func (h *hashes) Push(x any) { *h = append(*h, x.(hashed)) }

// Pop implements heap.Interface.
func (h *hashes) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// counts sums over times in logarithmic steps: a tree of P. Fenwick (1994).
type counts struct{ tree []int }

func newCounts(n int) counts { return counts{make([]int, n+1)} }

func (c counts) size() int { return len(c.tree) - 1 }

func (c counts) add(at, n int) {
	for i := at + 1; i < len(c.tree); i += i & -i {
		c.tree[i] += n
	}
}

// upTo sums the times up to one, itself included.
func (c counts) upTo(at int) (sum int) {
	for i := at + 1; i > 0; i -= i & -i {
		sum += c.tree[i]
	}
	return sum
}

// after sums the times after one.
func (c counts) after(at int) int { return c.upTo(c.size()-1) - c.upTo(at) }
