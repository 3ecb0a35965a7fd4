package files

import (
	"math"
	"sort"

	"plumb/internal/draw"
)

// Kinds of operation, in the order of IO.Ops.
const (
	opRead = iota
	opWrite
	opFsync
)

// Streams of random numbers, one for each purpose.
const (
	streamPlace = 0xf11e01
	streamFresh = 0xf11e02
)

// request is what one operation does.
type request struct {
	op     int
	file   int
	at     int64 // in the file, bytes
	length int64
}

// plan says what each operation does. It is a pure function.
type plan struct {
	c        IOConfig
	perFile  int64 // blocks of a file
	chunk    int64 // blocks of a sequential request
	chunks   int64 // sequential requests of a file
	requests int64 // in seqwr: how many there are; otherwise without end
	freq     int64 // requests between two rounds of fsync; 0 for none
}

func newPlan(c IOConfig) plan {
	p := plan{c: c, perFile: c.fileSize() / c.BlockSize, chunk: int64(max(1, c.Merged)), requests: math.MaxInt64}
	p.chunks = (p.perFile + p.chunk - 1) / p.chunk
	if c.Mode == SeqWrite {
		p.requests = p.chunks * int64(c.Files)
	}
	if c.Writes() && !c.FsyncAll {
		p.freq = int64(c.FsyncFreq)
	}
	return p
}

// operations is how many operations the mode has before it is through.
func (p plan) operations() int64 {
	if p.requests == math.MaxInt64 || p.freq == 0 {
		return p.requests
	}
	return p.requests + p.rounds(p.requests/p.freq)*int64(p.c.Files)
}

// at gives operation n. Requests come in groups of freq; after each group in
// which something was written, one operation for each file syncs it.
func (p plan) at(n int64) request {
	if p.freq == 0 {
		return p.request(n)
	}
	group := p.group(n)
	within := n - p.start(group)
	if within < p.freq {
		return p.request(group*p.freq + within)
	}
	return request{op: opFsync, file: int(within - p.freq)}
}

// start is the number of a group's first operation.
func (p plan) start(group int64) int64 { return group*p.freq + p.rounds(group)*int64(p.c.Files) }

// rounds counts the rounds of fsync before a group: the groups before it that
// wrote something. Writes come so evenly that either every group has one, or
// none has two.
func (p plan) rounds(group int64) int64 {
	if p.c.Mode != RandBoth {
		return group
	}
	return min(group, p.writesBefore(group*p.freq))
}

// group finds the group of operation n.
func (p plan) group(n int64) int64 {
	if even := n / (p.freq + int64(p.c.Files)); p.rounds(even+1) == even+1 {
		return even
	}
	most := int(n/p.freq) + 1
	return int64(sort.Search(most, func(g int) bool { return p.start(int64(g)+1) > n }))
}

// writesBefore counts the writes among the first r requests of rndrw. A
// request reads while (reads+1)/(writes+1) is below the ratio; so write
// number k comes after ceil(ratio*k)-1 reads.
func (p plan) writesBefore(r int64) int64 {
	k := int64(float64(r) / (1 + p.c.RWRatio))
	for k > 0 && p.write(k) >= r {
		k--
	}
	for p.write(k+1) < r {
		k++
	}
	return k
}

// write gives the request that is the k-th write, counted from 1.
func (p plan) write(k int64) int64 {
	return k - 1 + max(0, int64(math.Ceil(p.c.RWRatio*float64(k)))-1)
}

// request gives request r, rounds of fsync not counted.
func (p plan) request(r int64) request {
	op := opRead
	switch {
	case p.c.Mode == RandBoth:
		if p.write(p.writesBefore(r)+1) == r {
			op = opWrite
		}
	case p.c.Writes():
		op = opWrite
	}
	if p.c.sequential() {
		return p.inOrder(op, r%(p.chunks*int64(p.c.Files)))
	}
	s := draw.Keyed(p.c.Seed, streamPlace, r)
	block := s.Below(p.perFile * int64(p.c.Files))
	return request{op, int(block / p.perFile), block % p.perFile * p.c.BlockSize, p.c.BlockSize}
}

func (p plan) inOrder(op int, r int64) request {
	block := r % p.chunks * p.chunk
	return request{op, int(r / p.chunks), block * p.c.BlockSize, min(p.chunk, p.perFile-block) * p.c.BlockSize}
}
