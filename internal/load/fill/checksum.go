package fill

import (
	"bytes"
	"math/big"
)

// hashLines sums the hashes of rows, so that their order does not matter.
func hashLines(lines []byte, hash func([]byte) uint64) (sum uint64) {
	var plain []byte
	for len(lines) > 0 {
		line, rest, _ := bytes.Cut(lines, []byte{'\n'})
		if bytes.IndexByte(line, '\\') >= 0 {
			plain = unescape(plain[:0], line)
			line = plain
		}
		sum += hash(line)
		lines = rest
	}
	return sum
}

// unescape appends a line as the fields are, joined by tabs; \N stays.
func unescape(dst, line []byte) []byte {
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c != '\\' || i+1 == len(line) {
			dst = append(dst, c)
			continue
		}
		i++
		switch line[i] {
		case 'N':
			dst = append(dst, '\\', 'N')
		case 't':
			dst = append(dst, '\t')
		case 'n':
			dst = append(dst, '\n')
		default:
			dst = append(dst, line[i])
		}
	}
	return dst
}

// modulo gives a sum of the server, which may be longer, modulo 2^64.
func modulo(sum string) uint64 {
	n, ok := new(big.Int).SetString(sum, 10)
	if !ok {
		return 0
	}
	return n.And(n, new(big.Int).SetUint64(1<<64-1)).Uint64()
}
