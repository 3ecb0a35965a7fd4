package client

import (
	"bytes"
	"strconv"
)

// floating is the number of decimals of a column that has no fixed number.
const floating = 31

// appendReal writes a DOUBLE or FLOAT as the server's text protocol does:
// with the column's decimals if it has a number of them, otherwise the
// shortest text that gives the same number, of a FLOAT no more than six
// digits, and with an exponent outside of 1e-15 to 1e15.
func appendReal(out []byte, v float64, single bool, decimals int) []byte {
	if decimals < floating {
		return strconv.AppendFloat(out, v, 'f', decimals, 64)
	}
	var buf [32]byte
	if single {
		six := strconv.AppendFloat(buf[:0], v, 'e', 5, 64)
		v, _ = strconv.ParseFloat(string(six), 64) // it was just written
	}
	text := strconv.AppendFloat(buf[:0], v, 'e', -1, 64)
	mantissa, exponent, ok := bytes.Cut(text, []byte("e"))
	if !ok { // not a number, which no server sends
		return append(out, text...)
	}
	n := parseInt(bytes.TrimPrefix(exponent, []byte("+")))
	if n >= -15 && n < 15 {
		return strconv.AppendFloat(out, v, 'f', -1, 64)
	}
	return strconv.AppendInt(append(append(out, mantissa...), 'e'), n, 10)
}
