package edit

import (
	"bytes"
	"fmt"
	"slices"
)

// Unset gives the text without the line that sets a key: what then counts is
// an earlier line, or the default. It fails where other settings would go
// with the line.
func Unset(f Form, text []byte, key string) ([]byte, error) {
	g, err := f.grammar()
	if err != nil {
		return nil, err
	}
	all, err := g.read(text)
	if err != nil {
		return nil, err
	}
	a, have := g.find(all, key)
	if !have {
		return text, nil
	}
	if a.from < 0 {
		return nil, fmt.Errorf("take %s out: line %d: its value is not plainly written, so it is not edited", key, a.line)
	}
	from, to := bytes.LastIndexByte(text[:a.from], '\n')+1, len(text)
	if i := bytes.IndexByte(text[a.to:], '\n'); i >= 0 {
		to = a.to + i + 1
	}
	out := slices.Concat(text[:from], text[to:])
	if !g.spares(out, all, key) {
		return nil, fmt.Errorf("take %s out: line %d: it holds other settings too", key, a.line)
	}
	return out, nil
}
