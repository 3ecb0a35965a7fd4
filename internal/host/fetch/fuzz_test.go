package fetch

import "testing"

func FuzzParseSum(f *testing.F) {
	f.Add([]byte("c7de3cc308ae1b07037c5c2977f722e132200204"))
	f.Add([]byte("  \n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if sum, ok := parseSum(text, 20); ok && len(sum) != 40 {
			t.Errorf("%q", sum)
		}
	})
}
