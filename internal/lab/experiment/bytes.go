package experiment

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Bytes is a size, written 4G, 512M, 16K or as a bare number; binary units.
type Bytes int64

// ParseBytes reads a size.
func ParseBytes(s string) (Bytes, error) {
	const units = "KMGT"
	number, factor := strings.TrimSuffix(strings.TrimSuffix(s, "B"), "i"), int64(1)
	if i := strings.IndexByte(units, last(number)); i >= 0 {
		number, factor = number[:len(number)-1], 1<<(10*(i+1))
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n >= 0 && n*float64(factor) <= 1<<60) {
		return 0, fmt.Errorf("%q is no size: want something like 4G, 512M or 16K", s)
	}
	return Bytes(n * float64(factor)), nil
}

func last(s string) byte {
	if s == "" {
		return 0
	}
	return s[len(s)-1]
}

// UnmarshalText implements encoding.TextUnmarshaler, which YAML uses too.
func (b *Bytes) UnmarshalText(text []byte) (err error) {
	*b, err = ParseBytes(string(text))
	return err
}

// MarshalYAML writes the size as files have it.
func (b Bytes) MarshalYAML() (any, error) { return b.String(), nil }

// UnmarshalJSON implements json.Unmarshaler: JSON has the number of bytes, and a
// text is read as in a file.
func (b *Bytes) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, (*int64)(b))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return b.UnmarshalText([]byte(text))
}

// String prints the size in the largest unit that divides it.
func (b Bytes) String() string {
	n := int64(b)
	for _, u := range []string{"T", "G", "M", "K"} {
		shift := map[string]uint{"T": 40, "G": 30, "M": 20, "K": 10}[u]
		if n != 0 && n%(1<<shift) == 0 {
			return strconv.FormatInt(n>>shift, 10) + u
		}
	}
	return strconv.FormatInt(n, 10)
}
