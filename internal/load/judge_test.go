package load

import (
	"testing"
	"time"
)

// TestLatePacer: what the pacer was late by is compared with the responses at the same quantile.
func TestLatePacer(t *testing.T) {
	at := func(p50, p99 time.Duration) Summary { return Summary{P50: p50, P99: p99} }
	for _, c := range []struct {
		name          string
		lag, response Summary
		late          bool
	}{
		{"a long tail hides a late one of a hundred", at(50*time.Microsecond, 300*time.Microsecond), at(1500*time.Microsecond, 90*time.Millisecond), false},
		{"the median is what the pacer waited", at(60*time.Microsecond, 150*time.Microsecond), at(300*time.Microsecond, 20*time.Millisecond), true},
		{"the tail is what the pacer waited", at(60*time.Microsecond, 2*time.Millisecond), at(time.Millisecond, 3*time.Millisecond), true},
		{"nothing ended", at(time.Millisecond, time.Millisecond), Summary{}, false},
	} {
		if why := late(c.lag, c.response); (why != "") != c.late {
			t.Errorf("%s: %q", c.name, why)
		}
	}
}
