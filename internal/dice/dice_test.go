package dice

import (
	"encoding/hex"
	"testing"
)

func TestHex(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		word := Hex(8)
		if raw, err := hex.DecodeString(word); err != nil || len(raw) != 8 || seen[word] {
			t.Fatalf("%q: %v", word, err)
		}
		seen[word] = true
	}
	if Hex(0) != "" {
		t.Error("no byte makes a word")
	}
}
