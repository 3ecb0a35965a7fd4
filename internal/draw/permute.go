package draw

import "math/bits"

// Permute is a bijection of [0, n), another for each key. It gives 0 for an
// i outside and for n < 1.
func Permute(key uint64, i, n int64) int64 {
	if i < 0 || i >= n {
		return 0
	}
	return int64(permute(key, uint64(i), uint64(n-1)))
}

// permute is a bijection of [0, last]. Each round can be undone, so it is a
// bijection of the numbers of as many bits as last has; walking on from
// numbers beyond last, fewer than two steps on average, keeps within.
func permute(key, i, last uint64) uint64 {
	width := bits.Len64(last)
	if width == 0 {
		return 0
	}
	mask, shift := ^uint64(0)>>(64-width), uint(width+1)/2
	rounds := 4
	if width < 12 {
		rounds = 8 // a round mixes less where there are few bits
	}
	for start := mix(key + gold); ; {
		s := Stream{start}
		for range rounds {
			k := s.Uint64()
			i = (i ^ k>>shift) & mask
			i = i * (k>>32 | 1) & mask
			i ^= i >> shift
		}
		if i <= last {
			return i
		}
	}
}
