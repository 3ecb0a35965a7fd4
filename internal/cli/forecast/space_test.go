package forecast

import (
	"strings"
	"testing"
	"time"

	"plumb/internal/forecast"
	"plumb/internal/forecast/space"
)

// TestADateTooFarForOne: what is no longer there does not keep anything else from being forecast.
func TestADateTooFarForOne(t *testing.T) {
	growing := func(of string, end time.Time) (k known) {
		k.series.Quantity = forecast.Quantity{Of: of, Name: "used", Unit: "bytes"}
		for d := range 60 {
			k.series.Days = append(k.series.Days, forecast.Day{Date: end.AddDate(0, 0, d-59), Value: 1e9 + 1e7*float64(d)})
		}
		return k
	}
	f := spaceFlags{at: "2026-08-01"}
	gone := growing("gone", time.Date(2022, 3, 2, 0, 0, 0, 0, time.UTC))
	results, err := f.forecast([]known{gone, growing("there", time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC))})
	if err != nil || len(results) != 2 || results[0].Refusal == nil || results[1].Refusal != nil {
		t.Fatalf("%+v, %v", results, err)
	}
	if _, err := f.forecast([]known{gone}); err == nil {
		t.Error("a date that is too far for all is no mistake")
	}
}

// TestAllIsRefused only where nothing is forecast; where it is one thing, its own reason is the error.
func TestAllIsRefused(t *testing.T) {
	short := space.Result{Forecast: forecast.Forecast{Quantity: forecast.Quantity{Of: "tank"}, Refusal: &forecast.Refusal{Why: "it is known for 2 days", Measure: "keep recording"}}}
	for want, results := range map[string][]space.Result{
		"forecast tank: it is known for 2 days": {short},
		"all forecasts are refused":             {short, short},
		"":                                      {short, {}},
	} {
		if err := refused(results); want == "" && err != nil || want != "" && (err == nil || err.Error() != want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestNothingIsJudgedByAFailedReading: what was not read says nothing of a forecast; logs can be empty.
func TestNothingIsJudgedByAFailedReading(t *testing.T) {
	k := known{series: forecast.Series{Days: []forecast.Day{{Date: morning, Value: 1e11}, {Date: morning.AddDate(0, 0, 1)}, {Date: morning.AddDate(0, 0, 2), Value: 1e11}}}}
	if got := len(k.came().Days); got != 2 {
		t.Errorf("%d days are judged", got)
	}
	k.bounded = true
	if got := len(k.came().Days); got != 3 {
		t.Errorf("%d days of logs are judged", got)
	}
}

// TestWhatIsNoLongerRead is forecast, and its last day is named: of a file beside the others, and else beside today.
func TestWhatIsNoLongerRead(t *testing.T) {
	ended := func(days int) known {
		return known{series: forecast.Series{Days: []forecast.Day{{Date: morning.AddDate(0, 0, -days), Value: 1e9}}}}
	}
	all := []known{ended(0), ended(longUnread), ended(longUnread + 1), {}}
	stale(all, source{csv: "x"}.newest(all, morning.AddDate(1, 0, 0)), false)
	if len(all[0].read) > 0 || len(all[1].read) > 0 || len(all[2].read) != 1 || !strings.Contains(all[2].read[0], ", 11 days before the newest reading of another: does it still exist?") {
		t.Errorf("%+v", all)
	}
	all = []known{ended(0)}
	stale(all, source{}.newest(all, morning.AddDate(0, 0, 20)), true)
	if len(all[0].read) != 1 || !strings.Contains(all[0].read[0], ", 20 days before "+morning.AddDate(0, 0, 20).Format(time.DateOnly)) {
		t.Errorf("%q", all[0].read)
	}
}
