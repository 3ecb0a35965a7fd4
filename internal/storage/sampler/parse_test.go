package sampler

import "testing"

func FuzzParseInFlight(f *testing.F) {
	f.Add([]byte("       0        3\n"))
	f.Add([]byte("-1 18446744073709551616"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if r, w, ok := parseInFlight(data); ok && min(r, w) < 0 {
			t.Errorf("%d reads and %d writes under way", r, w)
		}
	})
}
