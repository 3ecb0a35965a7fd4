package strictyaml

import (
	"bytes"
	"slices"
)

// Without empties the lines of some top-level keys, so that reading the rest
// costs less. Every line keeps its number. It wants the form our own files
// have: a top-level key begins its line, and nothing else begins with a letter.
func Without(data []byte, keys ...string) []byte {
	out := make([]byte, 0, len(data))
	drop := false
	for line := range bytes.Lines(data) {
		if c := line[0]; c >= 'a' && c <= 'z' {
			key, _, _ := bytes.Cut(line, []byte(":"))
			drop = slices.Contains(keys, string(key))
		}
		if drop {
			line = line[len(line)-1:]
		}
		out = append(out, line...)
	}
	return out
}
