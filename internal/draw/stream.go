// Package draw makes random numbers and random content that are a pure
// function of a key: (seed, stream, index). So a load is the same for any
// number of workers, a range of rows can be made again after a crash, and two
// arms of a comparison can be given the same operations.
package draw

import "math/bits"

// Odd constants with well-mixed bits, of wyhash and splitmix64.
const (
	step = 0xa0761d6478bd642f
	stir = 0xe7037ed1a0b428db
	gold = 0x9e3779b97f4a7c15
)

// Stream is a sequence of random numbers. It is small, copied freely, and
// never shared between goroutines.
type Stream struct{ state uint64 }

// Keyed starts the sequence that belongs to one thing: operation number index
// of a run, row number index of a table.
func Keyed(seed, stream uint64, index int64) Stream {
	return Stream{mix(mix(seed+gold) ^ mix(stream*gold+stir) ^ uint64(index)*step)}
}

// mix is the finaliser of splitmix64: every bit of the answer depends on
// every bit of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// Uint64 gives the next 64 random bits.
func (s *Stream) Uint64() uint64 {
	s.state += step
	hi, lo := bits.Mul64(s.state, s.state^stir)
	return hi ^ lo
}

// Below gives a number of [0, n). It gives 0 for n < 1.
func (s *Stream) Below(n int64) int64 {
	if n < 1 {
		return 0
	}
	hi, _ := bits.Mul64(s.Uint64(), uint64(n)) // bias below n/2^64: never seen
	return int64(hi)
}

// Between gives a number of [a, b]. It gives a for b < a.
func (s *Stream) Between(a, b int64) int64 {
	if b < a {
		return a
	}
	n := uint64(b) - uint64(a) + 1
	if n == 0 {
		return int64(s.Uint64()) // all there are
	}
	hi, _ := bits.Mul64(s.Uint64(), n)
	return int64(uint64(a) + hi)
}

// Float gives a number of [0, 1).
func (s *Stream) Float() float64 { return float64(s.Uint64()>>11) / (1 << 53) }

// Chance is true with probability p.
func (s *Stream) Chance(p float64) bool { return s.Float() < p }
