package backup

import (
	"math"
	"testing"
	"time"

	"plumb/internal/backup"
	"plumb/internal/stats"
)

// What is not known is not said, or said to be so, and what is known with its range.
func TestProgress(t *testing.T) {
	half := backup.Progress{Stream: "tank/db", Bytes: 5 << 30, Total: 10 << 30}
	unknown := stats.Estimate{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	for _, c := range []struct {
		p    backup.Progress
		rate float64
		left stats.Estimate
		want string
	}{
		{half, 100 << 20, stats.Estimate{Value: 52, Low: 45, High: 61, N: 20}, "tank/db: 5.00G of 10.0G, 50 %, 100M a second, 45s to 1m1s left"},
		{half, 100 << 20, stats.Estimate{Value: 7200, Low: 7190, High: 7210, N: 20}, "tank/db: 5.00G of 10.0G, 50 %, 100M a second, 2h left"},
		{half, 100 << 20, stats.Estimate{Value: 600, Low: 0, High: 1900, N: 20}, "tank/db: 5.00G of 10.0G, 50 %, 100M a second, up to 32m left"},
		{half, 100 << 20, stats.Estimate{Value: 600, Low: 500, High: 1e9, N: 20}, "tank/db: 5.00G of 10.0G, 50 %, 100M a second, time left unknown"},
		{half, math.NaN(), unknown, "tank/db: 5.00G of 10.0G, 50 %, time left unknown"},
		{backup.Progress{Stream: "pg_dump", Bytes: 5 << 30}, 100 << 20, unknown, "pg_dump: 5.00G, 100M a second"},
		{backup.Progress{Stream: "x", Bytes: 1<<40 - 1, Total: 1 << 40}, 100 << 20, stats.Estimate{N: 20}, "x: 1.00T of 1.00T, 99 %, 100M a second, 0s left"},
		{backup.Progress{Stream: "x", Bytes: 1 << 40, Total: 1 << 40}, 100 << 20, stats.Estimate{N: 20}, "x: 1.00T of 1.00T, 100 %, 100M a second"},
	} {
		if got := Progress(c.p, c.rate, c.left); got != c.want {
			t.Errorf("%q, and it should be %q", got, c.want)
		}
	}
	if got := Standing(half, 4*time.Minute); got != "tank/db has stood at 5.00G for 4m" {
		t.Errorf("%q", got)
	}
}
