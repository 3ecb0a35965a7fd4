package load

import (
	"testing"
	"time"

	"plumb/internal/load"
	"plumb/internal/load/tpcc"
)

// The report of a run gets the workload's own figure and its bands.
func TestTPCCRun(t *testing.T) {
	res := &load.Result{Ops: []load.OpResult{{Done: 990, RolledBack: 10}}}
	for range 20 {
		res.Series = append(res.Series, load.Second{Length: time.Second, Ops: []load.OpSecond{{Done: 200}}})
	}
	r := Report{Result: res}
	r.TPCC(tpcc.Config{Warehouses: 2})
	if want := "12,000 new orders/min"; r.Headline != want {
		t.Errorf("%q, want %q", r.Headline, want)
	}
	if len(r.Audit) != 7 || r.Audit[0].Verdict != tpcc.Unknown || r.Audit[0].Value != 1 {
		t.Errorf("%+v", r.Audit)
	}
}
