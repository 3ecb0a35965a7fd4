// Package units writes numbers for people: bytes, rates, parts, intervals and
// lengths of time, and reads the sizes that people type. It is the one place that does, for sentences, tables and
// pages alike: a size has the same look wherever it stands, 16K or 1.5G, and
// K, M, G and T are always powers of 1024.
package units

import (
	"math"
	"strconv"
	"strings"
)

const letters = "KMGTPE"

// Bytes writes a number of bytes. It stays exact for the numbers people type
// (16385 and 16K are different settings) and rounds to one decimal from 1M on,
// where only measured sizes are odd.
func Bytes(n int64) string {
	if n < 0 {
		return "-" + Bytes(-max(n, math.MinInt64+1))
	}
	unit, size := -1, int64(1)
	for unit+1 < len(letters) && n >= size*1024 {
		unit, size = unit+1, size*1024
	}
	if unit < 0 || unit == 0 && n%1024 != 0 {
		return strconv.FormatInt(n, 10) + " bytes"
	}
	if n%size == 0 {
		return strconv.FormatInt(n/size, 10) + letters[unit:unit+1]
	}
	if unit > 0 && n%(size/1024) == 0 && n < 10*size && float64(n)/float64(size) != math.Trunc(float64(n)/float64(size)*10)/10 {
		return strconv.FormatInt(n/(size/1024), 10) + letters[unit-1:unit] // 1100M rather than 1.1G
	}
	text := strconv.FormatFloat(float64(n)/float64(size), 'f', 1, 64)
	if text == "1024.0" && unit+1 < len(letters) {
		return "1" + letters[unit+1:unit+2]
	}
	return strings.TrimSuffix(text, ".0") + letters[unit:unit+1]
}

// Size writes a computed number of bytes, as Bytes does; what is more than any disk can have is rounded.
func Size(n float64) string {
	if n >= math.MaxInt64 {
		return Measured(n)
	}
	return Bytes(int64(n))
}

// Measured writes a measured or estimated number of bytes with three digits:
// 512 bytes, 12.3K, 1.02G.
func Measured(n float64) string {
	unit := -1
	for unit+1 < len(letters) && math.Abs(n) >= 1000 {
		unit, n = unit+1, n/1024
	}
	if unit < 0 {
		return Digits3(n) + " bytes"
	}
	return Digits3(n) + letters[unit:unit+1]
}

// Typed writes a number of bytes as people and servers read it, in the largest
// of the units that loses nothing: 16384 is 16K with "", "K", "M".
func Typed(n int64, units ...string) string {
	u := 0
	for n != 0 && n%1024 == 0 && u < len(units)-1 {
		n /= 1024
		u++
	}
	return strconv.FormatInt(n, 10) + units[u]
}

// ParseBytes reads a number of bytes as people type it: 16384, 16K, 1.5g. A larger one than there can be is the largest. The GB
// by which disks are sold are no powers of 1024, so they are not read, and not guessed at.
func ParseBytes(text string) (n int64, ok bool) {
	number, factor := text, int64(1)
	if text != "" {
		if i := strings.IndexByte(letters, text[len(text)-1]&^0x20); i >= 0 {
			number, factor = text[:len(text)-1], 1<<(10*(i+1))
		}
	}
	if strings.Trim(number, "0123456789.") != "" {
		return 0, false
	}
	if n, err := strconv.ParseInt(number, 10, 64); err == nil && n <= math.MaxInt64/factor {
		return n * factor, true
	}
	f, err := strconv.ParseFloat(number, 64)
	if f *= float64(factor); f >= math.MaxInt64 {
		return math.MaxInt64, true
	}
	return int64(f), err == nil
}
