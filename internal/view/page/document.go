package page

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode"

	"plumb/internal/load"
	"plumb/internal/units"
)

// JSONVersion is the version of all documents of this file. A field may be
// added within a version; a field is never renamed, removed or given another
// meaning.
const JSONVersion = 1

// JSON writes a document with two spaces of indentation and a final newline.
func JSON(doc any) ([]byte, error) {
	b, err := json.MarshalIndent(doc, "", "  ")
	return append(Inert(b), '\n'), err
}

// Inert writes the characters of a JSON document that could drive a terminal
// or reorder text, and that JSON allows as they are, in its own notation: the
// document stays the same.
func Inert(document []byte) []byte {
	drives := func(r rune) bool { return r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) }
	if bytes.IndexFunc(document, drives) < 0 {
		return document
	}
	var out bytes.Buffer
	for _, r := range string(document) {
		if drives(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

// NotNil makes an empty list be written as [] and not as null.
func NotNil[T any](l []T) []T {
	if l == nil {
		return []T{}
	}
	return l
}

// SeedText writes a seed as text: JSON has no whole number as large.
func SeedText(n uint64) string { return strconv.FormatUint(n, 10) }

// Encoded gives a histogram in its own compact notation; "" where nothing was measured.
func Encoded(l load.Latency) (string, error) {
	if l.Histogram == nil || l.TotalCount() == 0 {
		return "", nil
	}
	b, err := l.Packed()
	return string(b), err
}

// MarkJSON is a reason not to take a result at face value.
type MarkJSON struct {
	Kind string `json:"kind"` // "client-bound", "saturated", "not-steady", "too-short", "interrupted", "server-lost", "errors", "clock-jumped", "crowded", "left-hanging"
	Text string `json:"text"`
}

// Finite gives 0 for what JSON cannot hold: shares of nothing.
func Finite(v float64) float64 {
	if v-v != 0 {
		return 0
	}
	return v
}

// Known gives a number, or nil for what JSON cannot hold: what is not known.
func Known(v float64) *float64 {
	if !units.IsReal(v) {
		return nil
	}
	return &v
}
