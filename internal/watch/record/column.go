package record

import (
	"encoding/binary"
	"math"
)

// A column is the values of one series in one block, in order of time. This is
// how statements are written, and in blocks of form 1 all else was, too. Its
// first byte says how the values are written: the mode in the low two bits, above
// them four for the number of decimals.
const (
	modeDelta  = 0 // varints: by how much each differs from the one before
	modeSlope  = 1 // varints: by how much each difference differs from the one before, for counters with a steady rate
	modeXOR    = 2 // bits that differ from those of the one before, byte planes one after the other, for what has no short decimal form
	modeSteady = 3 // one varint: all values are the same
)

// What many counters count comes in pieces of one size, such as sectors. Then
// differences are written in that size, which stands behind the first byte.
const inPieces = 1 << 6

const (
	mostDecimals = 12
	exactInt     = 1 << 53 // whole numbers below are exact in a float64
)

var tens = [mostDecimals + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12}

// appendColumn writes values; base is a value that both sides know, near to the
// first if possible.
func appendColumn(dst []byte, base float64, values []float64) []byte {
	decimals, ok := decimalsOf(values)
	if !ok {
		return appendXOR(append(dst, modeXOR), base, values)
	}
	start, ok := scaled(base, decimals)
	if !ok {
		start = 0
	}
	return appendInts(dst, byte(decimals)<<2, start, wholeNumbers(values, decimals))
}

// wholeNumbers gives values in units of their last decimal, which decimalsOf has found.
func wholeNumbers(values []float64, decimals int) []int64 {
	whole := make([]int64, len(values))
	for i, v := range values {
		whole[i], _ = scaled(v, decimals)
	}
	return whole
}

// decimalsOf gives the fewest decimals with which all values can be written as
// whole numbers and be read back bit by bit.
func decimalsOf(values []float64) (decimals int, ok bool) {
	for _, v := range values {
		for {
			if _, ok := scaled(v, decimals); ok {
				break
			}
			if decimals++; decimals > mostDecimals {
				return 0, false
			}
		}
	}
	// What needed few decimals must also do with those that another needed.
	for _, v := range values {
		if _, ok := scaled(v, decimals); !ok {
			return 0, false
		}
	}
	return decimals, true
}

func scaled(v float64, decimals int) (n int64, ok bool) {
	f := math.Round(v * tens[decimals])
	if !(math.Abs(f) < exactInt) { // NaN too
		return 0, false
	}
	n = int64(f)
	return n, math.Float64bits(float64(n)/tens[decimals]) == math.Float64bits(v)
}

// appendInts writes whole numbers in the mode that takes the fewest bytes.
func appendInts(dst []byte, head byte, start int64, values []int64) []byte {
	delta, slope, steady, piece := 0, 0, true, uint64(0)
	last, step := start, int64(0)
	for i, v := range values {
		d := v - last
		delta += varintLen(d)
		slope += varintLen(d - step)
		steady = steady && v == values[0]
		if i > 0 && piece != 1 {
			piece = gcd(piece, magnitude(d))
		}
		last, step = v, d
	}
	if steady && len(values) > 0 {
		return binary.AppendVarint(append(dst, head|modeSteady), values[0]-start)
	}
	mode := byte(modeDelta)
	if slope < delta {
		mode = modeSlope
	}
	size := int64(1)
	if piece > 1 && piece < 1<<62 {
		size = int64(piece)
		dst = binary.AppendUvarint(append(dst, head|mode|inPieces), piece)
	} else {
		dst = append(dst, head|mode)
	}
	if len(values) > 0 {
		dst = binary.AppendVarint(dst, values[0]-start)
	}
	step = 0
	for i := 1; i < len(values); i++ {
		d := (values[i] - values[i-1]) / size
		if mode == modeSlope {
			dst = binary.AppendVarint(dst, d-step)
		} else {
			dst = binary.AppendVarint(dst, d)
		}
		step = d
	}
	return dst
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

func varintLen(n int64) (size int) {
	for u := uint64(n)<<1 ^ uint64(n>>63); u >= 0x80; u >>= 7 {
		size++
	}
	return size + 1
}

func appendXOR(dst []byte, base float64, values []float64) []byte {
	at, n := len(dst), len(values)
	dst = append(dst, make([]byte, 8*n)...)
	last := math.Float64bits(base)
	for i, v := range values {
		x := math.Float64bits(v)
		for plane := range 8 {
			dst[at+plane*n+i] = byte((x ^ last) >> (8 * plane))
		}
		last = x
	}
	return dst
}

// input is a block being read. What is wrong with it is kept, and all that is
// read after that is zero.
type input struct {
	data []byte
	bad  bool

	// of a block of form 2
	coded *decoder
	lore  lore
	had   [][]int64 // rests of the columns before
}

func (in *input) fail() { in.bad, in.data = true, nil }

func (in *input) byte() byte {
	if len(in.data) == 0 {
		in.fail()
		return 0
	}
	b := in.data[0]
	in.data = in.data[1:]
	return b
}

func (in *input) bytes(n int) []byte {
	if n < 0 || n > len(in.data) {
		in.fail()
		return nil
	}
	b := in.data[:n]
	in.data = in.data[n:]
	return b
}

func (in *input) varint() int64 {
	v, n := binary.Varint(in.data)
	if n <= 0 {
		in.fail()
		return 0
	}
	in.data = in.data[n:]
	return v
}

// count reads a number of things of which there are at most most.
func (in *input) count(most int) int {
	v, n := binary.Uvarint(in.data)
	if n <= 0 || v > uint64(most) {
		in.fail()
		return 0
	}
	in.data = in.data[n:]
	return int(v)
}

// column reads n values that appendColumn wrote, or, in form 2, output.column.
func (in *input) column(base float64, n int) []float64 {
	if in.coded != nil {
		return in.predictedColumn(n)
	}
	if n > 0 && len(in.data) > 0 && in.data[0] == modeXOR {
		in.byte()
		return in.xor(base, n)
	}
	values := make([]float64, 0, n)
	if n == 0 {
		in.byte()
		return values
	}
	decimals := int(in.peek() >> 2 & 15)
	if decimals > mostDecimals {
		in.fail()
		return nil
	}
	start, ok := scaled(base, decimals)
	if !ok {
		start = 0
	}
	for _, v := range in.ints(start, n) {
		values = append(values, float64(v)/tens[decimals])
	}
	return values
}

func (in *input) peek() byte {
	if len(in.data) == 0 {
		in.fail()
		return 0
	}
	return in.data[0]
}

// ints reads n values that appendInts wrote.
func (in *input) ints(start int64, n int) []int64 {
	head := in.byte()
	mode, size := head&3, int64(1)
	if head&inPieces != 0 {
		size = int64(in.count(math.MaxInt64))
	}
	if n == 0 || in.bad || mode != modeSteady && n > len(in.data) || mode == modeXOR {
		if n != 0 {
			in.fail()
		}
		return nil
	}
	values := make([]int64, n)
	values[0] = start + in.varint()
	step := int64(0)
	for i := 1; i < n; i++ {
		if mode == modeSteady {
			values[i] = values[0]
			continue
		}
		d := in.varint()
		if mode == modeSlope {
			d += step
		}
		step = d
		values[i] = values[i-1] + d*size
	}
	return values
}

func (in *input) xor(base float64, n int) []float64 {
	if n > len(in.data)/8 {
		in.fail()
		return nil
	}
	planes := in.bytes(8 * n)
	values := make([]float64, n)
	last := math.Float64bits(base)
	for i := range values {
		var x uint64
		for plane := range 8 {
			x |= uint64(planes[plane*n+i]) << (8 * plane)
		}
		last ^= x
		values[i] = math.Float64frombits(last)
	}
	return values
}
