package lab

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"plumb/internal/lab/report"
	"plumb/test/sandbox"
)

// TestTwoVolumesForetellTheThird runs one load on three limited volumes with a
// real server. The forecast is shown the slowest and the fastest, and what it says
// of the third is compared with what the third did.
func TestTwoVolumesForetellTheThird(t *testing.T) {
	sandbox.NeedTime(t, "three volumes are loaded for some minutes: make test-real does it")
	needRoot(t)
	needServer(t, mariadb)
	l := newLab(t)
	const file = "testdata/three-volumes.yaml"
	l.run(file)
	x, records := l.records(file)
	rates := map[string]float64{}
	for _, a := range report.Make(x, records).Arms {
		if a.Trials == 0 {
			t.Skipf("the machine disturbed every trial of %s, so it is not known what that volume does: %q", a.Name, marks(records))
		}
		rates[a.Name] = a.Metric.Value
	}
	table := filepath.Join(t.TempDir(), "two.csv")
	must(t, os.WriteFile(table, fmt.Appendf(nil, "iops,rate\n150,%g\n2400,%g\n", rates["150"], rates["2400"]), 0o600))
	out, _ := plumb.Run(t, 0, "forecast", "load", "--over", "iops", "--csv", table, "--clients", "8", "--at", "600", "--json")
	var told struct {
		Forecasts []struct {
			Values []struct{ Value, Low, High float64 }
			Rivals []struct {
				Name  string
				Value float64
			}
		}
	}
	must(t, json.Unmarshal([]byte(out), &told))
	v := told.Forecasts[0].Values[0]
	off := v.Value/rates["600"] - 1
	t.Logf("150 IOPS: %.0f a second, 2400: %.0f; 600 foretold %.0f (%.0f to %.0f), measured %.0f: %+.1f %%; rivals %v",
		rates["150"], rates["2400"], v.Value, v.Low, v.High, rates["600"], 100*off, told.Forecasts[0].Rivals)
	if math.Abs(off) > 0.15 {
		t.Errorf("off by %+.0f %%, and the goal is 15 %%", 100*off)
	}
	// The same from the ledger, in which nothing is hidden: between two of three.
	out, _ = plumb.Run(t, 0, "forecast", "load", "--over", "iops", "--ledger", l.ledger, "--experiment", x.Name, "--axis", "iops", "--clients", "8", "--at", "1000")
	t.Log(out)
	l.nothingLeft()
}
