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
		// One draw, eleven digits: it is a fraction, of which the first three
		// digits and the next eight are taken.
		head, rest := bits.Mul64(s.Uint64(), 1000)
		tail, _ := bits.Mul64(rest, 1e8)
		hundreds := head * 41 >> 12
		head -= hundreds * 100
		tens := head * 103 >> 10
		text := hundreds | tens<<8 | (head-tens*10)<<16
		binary.LittleEndian.PutUint32(at, uint32(text|0x2d303030))
		binary.LittleEndian.PutUint64(at[3:11:12], eight(tail))
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

// Letters appends min to max letters and digits: an a-string of TPC-C
// (4.3.2.2).
func (s *Stream) Letters(dst []byte, min, max int) []byte {
	from := len(dst)
	dst = extend(dst, int(s.Between(int64(min), int64(max))))
	at := dst[from:]
	for ; len(at) >= 8; at = at[8:] {
		binary.LittleEndian.PutUint64(at, letters(s.Uint64(), s.Uint64()))
	}
	if len(at) > 0 {
		var text [8]byte
		binary.LittleEndian.PutUint64(text[:], letters(s.Uint64(), s.Uint64()))
		copy(at, text[:])
	}
	return dst
}

// letters makes eight characters of the 62 from two draws, 16 bits for each:
// so each is as likely as another within 0.1 %. It works on all at once.
func letters(a, b uint64) uint64 {
	n := below62(a) | below62(a>>16)<<8 | below62(b)<<16 | below62(b>>16)<<24
	const each = 0x0101010101010101
	upper := (n + (128-10)*each) >> 7 & each // from 10 on
	lower := (n + (128-36)*each) >> 7 & each // from 36 on
	return n + '0'*each + upper*('A'-'9'-1) + lower*('a'-'Z'-1)
}

// below62 makes a number of [0, 62) of the low 16 bits of each half.
func below62(u uint64) uint64 {
	return u & 0x0000ffff0000ffff * 62 >> 16 & 0x0000003f0000003f
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
