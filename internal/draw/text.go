package draw

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// Digits appends groups of 11 digits joined by '-': ten make the 119 bytes of
// column c of sysbench's tables, five the 59 bytes of pad.
func (s *Stream) Digits(dst []byte, groups int) []byte {
	if groups < 1 {
		return dst
	}
	from := len(dst)
	dst = slices.Grow(dst, 12*groups)[:from+12*groups]
	for at := dst[from:]; len(at) >= 12; at = at[12:] {
		v, _ := bits.Mul64(s.Uint64(), 1e11) // one draw, eleven digits
		head := v / 1e8
		tail := eight(v - head*1e8)
		at[0], at[1], at[2] = byte('0'+head/100), byte('0'+head/10%10), byte('0'+head%10)
		binary.LittleEndian.PutUint64(at[3:], tail)
		at[11] = '-'
	}
	return dst[:len(dst)-1]
}

// eight gives the eight digits of v < 10^8 as text, in the order of memory.
// It works on all of them at once: in two halves, four quarters, eight
// digits. The factors divide by 100 and by 10 exactly for what can be there.
func eight(v uint64) uint64 {
	v = v/10000 | v%10000<<32
	hundreds := v * 10486 >> 20 & 0x0000007f0000007f
	v = hundreds | (v-hundreds*100)<<16
	tens := v * 103 >> 10 & 0x000f000f000f000f
	v = tens | (v-tens*10)<<8
	return v | 0x3030303030303030
}

const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// Letters appends min to max letters and digits: an a-string of TPC-C
// (4.3.2.2).
func (s *Stream) Letters(dst []byte, min, max int) []byte {
	from := len(dst)
	dst = extend(dst, int(s.Between(int64(min), int64(max))))
	for at := dst[from:]; len(at) > 0; {
		// Eight characters of one draw, four of each half; 2^32 is so much
		// more than 62^4 that each is as likely as another within 0.4 %.
		u := s.Uint64()
		low, high := u&0xffffffff, u>>32
		var eight [8]byte
		for i := 0; i < 8; i += 2 {
			low, high = low*62, high*62
			eight[i], eight[i+1] = alphabet[low>>32], alphabet[high>>32]
			low, high = low&0xffffffff, high&0xffffffff
		}
		at = at[copy(at, eight[:]):]
	}
	return dst
}

// Numerals appends min to max digits: an n-string of TPC-C.
func (s *Stream) Numerals(dst []byte, min, max int) []byte {
	from := len(dst)
	dst = extend(dst, int(s.Between(int64(min), int64(max))))
	for at := dst[from:]; len(at) > 0; {
		v, _ := bits.Mul64(s.Uint64(), 1e8)
		var text [8]byte
		binary.LittleEndian.PutUint64(text[:], eight(v))
		at = at[copy(at, text[:]):]
	}
	return dst
}

// extend makes dst n bytes longer.
func extend(dst []byte, n int) []byte {
	n = max(n, 0)
	return slices.Grow(dst, n)[:len(dst)+n]
}

var syllables = [10]string{"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

// LastName appends the last name of a number of [0, 999]: a syllable for each
// digit (TPC-C 4.3.2.3). It is at most 15 bytes long.
func LastName(dst []byte, number int64) []byte {
	n := uint64(number) % 1000
	dst = append(dst, syllables[n/100]...)
	dst = append(dst, syllables[n/10%10]...)
	return append(dst, syllables[n%10]...)
}
