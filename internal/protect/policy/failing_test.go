package policy

import (
	"testing"
	"time"
)

// TestFailuresNameTheirZone: whoever reads "since 03:00:00" at night compares it with a clock, and needs to know which.
func TestFailuresNameTheirZone(t *testing.T) {
	at := time.Date(2026, 11, 24, 2, 5, 0, 0, time.FixedZone("CET", 3600))
	for want, l := range map[string]Last{
		"snapshot failed 3 times since 2026-11-24 01:05:00 UTC":   {Kind: Take, Since: at, Failed: at, Times: 3},
		"replicate to vault/db failed at 2026-11-24 01:05:00 UTC": {Kind: Replicate, Target: "vault/db", Since: at, Failed: at, Times: 1},
	} {
		if got := failing(l); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
