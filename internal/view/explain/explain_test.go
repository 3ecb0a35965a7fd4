package explain

import (
	"math"
	"testing"
	"time"

	"plumb/internal/explain"
	"plumb/internal/rule"
	"plumb/internal/stats"
	"plumb/internal/view/page"
	"plumb/internal/view/viewtest"
)

func TestExplainRule(t *testing.T) {
	r := viewtest.TestRules()["cross/zfs-recordsize-innodb"]
	viewtest.Golden(t, "explain.txt", Rule(r, explain.Proof{}, page.Screen{Width: 80}))
	viewtest.Golden(t, "explain-proof.txt", Rule(r, testProof(), page.Screen{Width: 80}))
}

// testProof is of an experiment and of rehearsals of every kind.
func testProof() explain.Proof {
	day := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	return explain.Proof{Ledger: "plumb-lab", Note: "One more could not be read.",
		Measured: []rule.Measurement{{Experiment: "recordsize", Date: day, Machine: "2 processors, Linux 6.18", Setup: "MariaDB 10.11 on zfs-fuse", Ledger: "4f1d2c90aa77",
			Shows: "With 16K records the device wrote 52.1 KB for each update (51.3 to 52.8), with 128K 143.6 KB (140.7 to 146.4).", Changed: "the trials were shorter", Doubt: "The rates are those of zfs-fuse."}},
		Rehearsed: []explain.Rehearsed{{At: day, Arm: "recordsize 16K", Effect: stats.Estimate{Value: 0.12, Low: 0.08, High: 0.16, N: 5}, Word: "better", Hash: "0123456789abcdef0123"},
			{At: day, Arm: "all advice", Effect: stats.Estimate{Value: 0.12, Low: math.Inf(-1), High: math.Inf(1), N: 1}, Word: "undecided", Hash: "01"}, {At: day, Arm: "recordsize 8K", Word: "undecided", Hash: "0123"}}}
}

func TestNoLineOfARuleIsWiderThanTheScreen(t *testing.T) {
	for _, w := range []int{60, 80, 100, 120} {
		viewtest.Fits(t, "a rule", Rule(viewtest.TestRules()["cross/zfs-recordsize-innodb"], testProof(), page.Screen{Width: w}), w)
	}
}
