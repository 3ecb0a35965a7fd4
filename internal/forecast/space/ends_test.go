package space

import (
	"slices"
	"strings"
	"testing"
	"time"

	"plumb/internal/forecast"
)

// TestWhatFallsToNothing is refused from the day on which it would be gone: nothing is known of what stays.
func TestWhatFallsToNothing(t *testing.T) {
	s := grown(400, func(int) float64 { return -249e6 }) // 400 MB are left of 100 GB
	res := Of(s, Ask{Days: 30, Limit: &Limit{Bytes: 1e12}})
	if res.Refusal == nil || len(res.Points) > 0 || res.Full != nil || !strings.Contains(res.Refusal.Why, "would reach zero by "+s.Last().Date.AddDate(0, 0, 2).Format(time.DateOnly)) ||
		!strings.HasPrefix(res.Refusal.Measure, "ask for 1 day or less") {
		t.Fatalf("%+v", res.Refusal)
	}
	if res := Of(s, Ask{Days: 1}); res.Refusal != nil || res.Points[0].Value.Median() <= 0 {
		t.Errorf("a day ahead: %+v", res.Refusal)
	}
	var weekly forecast.Series
	for i := 0; i < len(s.Days); i += 7 {
		weekly.Days = append(weekly.Days, s.Days[i])
	}
	if res := Of(weekly, Ask{Days: 28}); res.Refusal == nil || res.Refusal.Measure != "keep recording until it no longer falls" {
		t.Errorf("less than a week before it is gone, of what is read each week: %+v", res.Refusal)
	}
	if res := Of(grown(60, func(int) float64 { return 0 }), Ask{Days: 30}); res.Refusal != nil {
		t.Errorf("what stays as it is: %+v", res.Refusal)
	}
}

// TestSomeFuturesFallToNothing: a range that ends at 0 bytes says that this is no floor that was seen.
func TestSomeFuturesFallToNothing(t *testing.T) {
	said := func(res Result) bool {
		return slices.ContainsFunc(res.Assumptions, func(a string) bool { return strings.HasPrefix(a, "in some futures nothing is left") })
	}
	emptied := func(d int) float64 {
		if d%14 == 0 {
			return -260e9
		}
		return 20e9
	}
	if res := Of(grown(209, emptied), Ask{Days: 90}); res.Refusal != nil || res.Points[len(res.Points)-1].Value[0] > 0 || !said(res) {
		t.Errorf("%+v %+v %q", res.Refusal, res.Points, res.Assumptions)
	}
	if res := Of(grown(200, noisy(3)), Ask{Days: 90}); said(res) {
		t.Errorf("%q", res.Assumptions)
	}
}

// TestDaysThatItWasFull tell nothing of how it grows: five weeks of them change no forecast, as far as weeks are whole.
func TestDaysThatItWasFull(t *testing.T) {
	const start, weeks = 120, 5
	whole := grown(240, noisy(4))
	held := forecast.Series{Days: slices.Clone(whole.Days[:start+1])}
	var full []time.Time
	for d := range weeks * week {
		day := whole.Days[start]
		day.Date = day.Date.AddDate(0, 0, d+1)
		held.Days, full = append(held.Days, day), append(full, day.Date)
	}
	full = append(full, whole.Days[start].Date)
	for _, d := range whole.Days[start+1:] {
		d.Date = d.Date.AddDate(0, 0, weeks*week)
		held.Days = append(held.Days, d)
	}
	without, with, blind := Of(whole, Ask{Days: 60}), Of(held, Ask{Days: 60, Full: full}), Of(held, Ask{Days: 60})
	end := func(r Result) forecast.Quantiles { return r.Points[len(r.Points)-1].Value }
	if end(with) != end(without) {
		t.Errorf("%.4g, and without those days %.4g", end(with), end(without))
	}
	if end(blind)[0] >= end(with)[0] {
		t.Errorf("as days without growth: %.4g, and not as such: %.4g", end(blind), end(with))
	}
	if !slices.ContainsFunc(with.Assumptions, func(a string) bool { return strings.HasPrefix(a, "it was full on 36 days until ") }) {
		t.Errorf("%q", with.Assumptions)
	}
	var always []time.Time
	for _, d := range held.Days {
		always = append(always, d.Date)
	}
	if res := Of(held, Ask{Days: 60, Full: always}); res.Refusal != nil || end(res)[4] <= end(res)[0] {
		t.Errorf("one that grows while it is full: %+v", res.Refusal)
	}
	if res := Of(grown(60, func(int) float64 { return 0 }), Ask{Days: 30, Full: always}); res.Refusal != nil || end(res).Median() != 1e11 {
		t.Errorf("one that was always full: %+v", res.Refusal)
	}
}

// TestReadingsOfAFullDisk: between two that say it was full, it was full.
func TestReadingsOfAFullDisk(t *testing.T) {
	var s forecast.Series
	var full []time.Time
	for i := range 40 {
		d := forecast.Day{Date: first.AddDate(0, 0, 7*i), Value: min(200e9, 100e9+7e9*float64(i)+1e9*float64(i%3))}
		if s.Days = append(s.Days, d); d.Value == 200e9 {
			full = append(full, d.Date)
		}
	}
	res := Of(s, Ask{Days: 91, Full: full})
	if res.Refusal != nil {
		t.Fatal(res.Refusal)
	}
	if q := res.Points[len(res.Points)-1].Value; q[1] > 291e9 || q[3] < 291e9 || q.Median() < 270e9 {
		t.Errorf("a GB a day until it was full: %.4g", q)
	}
	if !slices.ContainsFunc(res.Assumptions, func(a string) bool { return strings.HasPrefix(a, "it was full on 176 days until ") }) {
		t.Errorf("%q", res.Assumptions)
	}
}
