package mirror

import "testing"

// Times that a filesystem keeps in whole seconds are the same as finer ones in that second.
func TestSameTime(t *testing.T) {
	for _, c := range []struct {
		a, b int64
		same bool
	}{{1_500_000_000, 1_500_000_000, true}, {1_500_000_000, 1_000_000_000, true}, {2_000_000_000, 1_999_999_999, false}, {1_500_000_000, 1_500_000_001, false}} {
		if got := sameTime(c.a, c.b); got != c.same {
			t.Errorf("%d and %d: %v", c.a, c.b, got)
		}
	}
}
