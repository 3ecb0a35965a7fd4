package load

import (
	"testing"

	"plumb/internal/stats"
)

// TestDipsAreSaidAsByTheLab, with the interval of each number.
func TestDipsAreSaidAsByTheLab(t *testing.T) {
	d := stats.Dips{Period: stats.Estimate{Value: 15, Low: 14.8, High: 15.2}, Share: stats.Estimate{Value: 0.2, Low: 0.19, High: 0.21},
		Depth: stats.Estimate{Value: 0.47, Low: 0.45, High: 0.49}, Count: 8, P: 0.0005}
	const want = "every 15.0 s (14.5 to 15.5) the rate falls by 47 % (45 to 49 %), for 3.00 s (2.50 to 3.50): 8 dips; chance alone would show that with a probability of 0.0005"
	if all := seriesRemarks(stats.Analysis{Dips: &d}); len(all) != 1 || all[0].Text != want {
		t.Errorf("%+v, want %q", all, want)
	}
}
