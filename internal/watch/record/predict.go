package record

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
)

// The columns of a block of form 2. What they are like goes into one part of
// the block, which zstd packs; by how much they miss their prediction, into
// another, which a range coder writes. The first byte says how a column is
// predicted, in the low three bits; above them stand four for the number of
// decimals, and one for [inPiecesOf].
const (
	predictSame  = 0 // all values are the same
	predictLeast = 1 // by the least of them: what varies around a mean
	predictLast  = 2 // by the one before
	predictSlope = 3 // by the one before and its difference: counters with a steady rate
	predictNone  = 4 // not at all: bits that differ from those of the one before, as in form 1
)

// inPiecesOf says that the differences are multiples of the number that follows.
const inPiecesOf = 1 << 7

// mostShape is above each shape as it is written. A number that is not below it
// tells how many columns before there was one with the same rests: what is counted in
// layers, such as the bytes of a disk and of its partition, is counted alike.
const mostShape = 2 * (mostBits + 1)

// output is a block being written.
type output struct {
	plain []byte
	coder *coder
	lore  lore
	had   rested
}

func newOutput() *output {
	return &output{coder: newCoder(), lore: lore{}, had: rested{by: map[uint64]int{}}}
}

// column writes the values of one series.
func (o *output) column(values []float64) {
	decimals, ok := decimalsOf(values)
	if !ok {
		o.plain = appendXOR(append(o.plain, predictNone), 0, values)
		return
	}
	o.ints(byte(decimals)<<3, wholeNumbers(values, decimals))
}

// times writes moments or durations in the largest unit that loses nothing.
func (o *output) times(start int64, ns []int64) {
	unit, by := inUnits(start, ns)
	o.plain = append(o.plain, unit)
	o.ints(0, by)
}

// ints writes whole numbers; of none it writes nothing.
func (o *output) ints(head byte, values []int64) {
	if len(values) == 0 {
		return
	}
	first, piece := values[0], pieceOf(values)
	if piece == 0 {
		o.plain = binary.AppendVarint(append(o.plain, head|predictSame), first)
		return
	}
	p := predict(values, int64(piece))
	if piece > 1 {
		head |= inPiecesOf
	}
	o.plain = binary.AppendVarint(append(o.plain, head|p.mode), first)
	if piece > 1 {
		o.plain = binary.AppendUvarint(o.plain, piece)
	}
	if p.mode != predictLast {
		o.plain = binary.AppendVarint(o.plain, p.more)
	}
	o.rests(p.mode, p.rests)
}

func (o *output) rests(mode byte, rests []int64) {
	if back, found := o.had.before(rests); found {
		o.plain = binary.AppendUvarint(o.plain, uint64(mostShape+back))
		return
	}
	s := shapeOf(mode, rests)
	n := 2 * s.bits
	if s.signed {
		n++
	}
	o.plain = binary.AppendUvarint(o.plain, uint64(n))
	o.coder.rests(o.lore, s, rests)
}

// pieceOf gives the greatest number that divides all differences; 0 when there are none.
// Numbers that are too far apart for that are in pieces of one.
func pieceOf(values []int64) (piece uint64) {
	for _, v := range values {
		if piece == 1 {
			return 1
		}
		piece = gcd(piece, magnitude(v-values[0]))
	}
	if piece >= 1<<62 {
		return 1
	}
	return piece
}

// prediction is a column by how it is predicted.
type prediction struct {
	mode  byte
	more  int64 // predictLeast: how far the least is below the first; predictSlope: the first difference
	rests []int64
}

// predict takes the way that leaves the least.
func predict(values []int64, piece int64) prediction {
	u := make([]int64, len(values))
	for i, v := range values {
		u[i] = (v - values[0]) / piece
	}
	best := byLast(u)
	cost := best.cost()
	for _, other := range []prediction{byLeast(u), bySlope(u)} {
		if c := other.cost(); other.rests != nil && c < cost {
			best, cost = other, c
		}
	}
	return best
}

func byLast(u []int64) prediction {
	p := prediction{mode: predictLast, rests: make([]int64, 0, len(u))}
	for i := 1; i < len(u); i++ {
		p.rests = append(p.rests, u[i]-u[i-1])
	}
	return p
}

func bySlope(u []int64) prediction {
	if len(u) < 3 {
		return prediction{}
	}
	p := prediction{mode: predictSlope, more: u[1] - u[0], rests: make([]int64, 0, len(u))}
	for i := 2; i < len(u); i++ {
		p.rests = append(p.rests, (u[i]-u[i-1])-(u[i-1]-u[i-2]))
	}
	return p
}

func byLeast(u []int64) prediction {
	low, high := slices.Min(u), slices.Max(u)
	if low < -1<<61 || high > 1<<61 {
		return prediction{}
	}
	p := prediction{mode: predictLeast, more: -low, rests: make([]int64, 0, len(u))}
	for _, v := range u[1:] {
		p.rests = append(p.rests, v-low)
	}
	return p
}

// cost guesses what the rests take, in eighths of a bit.
func (p prediction) cost() (eighths int) {
	sign := 0
	for _, r := range p.rests {
		if r == 0 {
			continue
		}
		if r < 0 {
			sign = 8
		}
		m := magnitude(r)
		n := bits.Len64(m)
		eighths += 8*n + int(m<<(mostBits-n)>>60&7)
	}
	return eighths + sign*len(p.rests)
}

// rested is the rests of the columns before.
type rested struct {
	by   map[uint64]int // number in list, by a sum
	list [][]int64
}

// before tells how many columns before there was one with the same rests, and
// remembers these unless there was.
func (h *rested) before(rests []int64) (back int, found bool) {
	key := uint64(len(rests))
	for _, r := range rests {
		key = (key ^ uint64(r)) * 0x100000001b3 // FNV-1a, of whole numbers
		key ^= key >> 29
	}
	if at, known := h.by[key]; known && slices.Equal(h.list[at], rests) {
		return len(h.list) - 1 - at, true
	}
	h.by[key] = len(h.list)
	h.list = append(h.list, rests)
	return 0, false
}

// predictedColumn reads n values that output.column wrote.
func (in *input) predictedColumn(n int) []float64 {
	if n == 0 {
		return nil
	}
	head := in.peek()
	if head == predictNone {
		in.byte()
		return in.xor(0, n)
	}
	decimals := int(head >> 3 & 15)
	if decimals > mostDecimals {
		in.fail()
		return nil
	}
	whole := in.predictedInts(n)
	values := make([]float64, len(whole))
	for i, v := range whole {
		values[i] = float64(v) / tens[decimals]
	}
	return values
}

// predictedInts reads n values that output.ints wrote.
func (in *input) predictedInts(n int) []int64 {
	if n == 0 {
		return nil
	}
	head := in.byte()
	mode, first, piece, more := head&7, in.varint(), int64(1), int64(0)
	if head&inPiecesOf != 0 {
		piece = int64(in.count(math.MaxInt64))
	}
	if mode == predictLeast || mode == predictSlope {
		more = in.varint()
	}
	values := make([]int64, n)
	if mode == predictSame {
		for i := range values {
			values[i] = first
		}
		return values
	}
	rests := in.rests(mode, n)
	if in.bad {
		return nil
	}
	predicted(mode, more, rests, values)
	for i, u := range values {
		values[i] = first + u*piece
	}
	return values
}

// predicted makes the numbers of which predict made rests. The first is 0.
func predicted(mode byte, more int64, rests, u []int64) {
	switch mode {
	case predictLeast:
		for i, r := range rests {
			u[i+1] = r - more
		}
	case predictLast:
		for i, r := range rests {
			u[i+1] = u[i] + r
		}
	case predictSlope:
		u[1] = more
		for i, r := range rests {
			more += r
			u[i+2] = u[i+1] + more
		}
	}
}

// rests reads those of a column of n values.
func (in *input) rests(mode byte, n int) []int64 {
	switch mode {
	case predictLeast, predictLast:
		n--
	case predictSlope:
		n -= 2
	default:
		n = 0
	}
	if n < 1 {
		in.fail()
		return nil
	}
	w := in.count(math.MaxInt32)
	if w >= mostShape {
		back := w - mostShape
		if back >= len(in.had) || len(in.had[len(in.had)-1-back]) != n {
			in.fail()
			return nil
		}
		return in.had[len(in.had)-1-back]
	}
	if in.bad {
		return nil
	}
	rests := in.coded.rests(in.lore, shape{mode: mode, bits: w / 2, signed: w%2 == 1}, n)
	in.had = append(in.had, rests)
	return rests
}
