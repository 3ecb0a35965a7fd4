// Package dice draws words that nobody can guess and that nobody draws again: names of things, tokens, keys.
package dice

import (
	"crypto/rand"
	"encoding/hex"
)

// Hex draws so many bytes, and writes them in hexadecimal digits.
func Hex(bytes int) string {
	word := make([]byte, bytes)
	_, _ = rand.Read(word) // never fails: where the kernel gives nothing, the program ends
	return hex.EncodeToString(word)
}
