package load

import (
	"fmt"

	"plumb/internal/load/tpcc"
	"plumb/internal/stats"
	"plumb/internal/units"
)

// TPCC completes the report of a run with what only this workload has.
func (r *Report) TPCC(c tpcc.Config) {
	rate := tpcc.NewOrdersPerMinute(r.Result)
	r.Headline = perMinute(rate) + " new orders/min"
	if part, ok := tpcc.Efficiency(c, r.Result); ok {
		r.Headline += fmt.Sprintf(" · %.1f %% of what the terminals can give", 100*part)
	}
	for _, b := range tpcc.Audit(c, r.Result) {
		r.Audit = append(r.Audit, Band{Name: b.Name, Low: b.Low, High: b.High, Value: b.Measured.Value, N: b.N, Unit: b.Unit, Verdict: b.Verdict})
	}
}

// perMinute words a rate with its interval, where there is one.
func perMinute(e stats.Estimate) string {
	text := units.Grouped(int64(e.Value + 0.5))
	if half := (e.High - e.Low) / 2; e.N > 1 && half > 0 {
		text += " ±" + units.Grouped(int64(half+0.5))
	}
	return text
}
