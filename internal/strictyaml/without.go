package strictyaml

import (
	"bytes"
	"slices"
	"strings"
)

// Without empties the lines of some top-level keys, so that reading the rest
// costs less. Every line keeps its number. It wants the form our own files
// have: a top-level key begins its line, and nothing else begins with a letter.
func Without(data []byte, keys ...string) []byte {
	out, _ := only(data, func(key string) bool { return !slices.Contains(keys, key) })
	return out
}

// Only empties the lines of all top-level keys but one, and tells whether that
// is there.
func Only(data []byte, key string) ([]byte, bool) {
	return only(data, func(other string) bool { return other == key })
}

func only(data []byte, wanted func(key string) bool) (out []byte, found bool) {
	out = make([]byte, 0, len(data))
	keep := true
	for line := range bytes.Lines(data) {
		if c := line[0]; c >= 'a' && c <= 'z' {
			key, _, _ := strings.Cut(string(line), ":")
			keep = wanted(key)
			found = found || keep
		}
		if !keep {
			line = line[len(bytes.TrimRight(line, "\n")):]
		}
		out = append(out, line...)
	}
	return out, found
}
