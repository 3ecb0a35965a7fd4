package space

import (
	"slices"
	"strings"
	"testing"

	"plumb/internal/forecast"
)

// TestAReadingThatFailed: an exporter that answered once before the disk was mounted changes no range.
func TestAReadingThatFailed(t *testing.T) {
	right := grown(400, noisy(1))
	wrong := forecast.Series{Quantity: right.Quantity, Days: slices.Clone(right.Days)}
	wrong.Days[350].Value = 0
	wide := func(r Result) float64 { q := r.Points[len(r.Points)-1].Value; return q[4] - q[0] }
	a, b := Of(right, Ask{Days: 90}), Of(wrong, Ask{Days: 90})
	if b.Refusal != nil || wide(b) > 1.25*wide(a) || wide(b) < 0.8*wide(a) {
		t.Errorf("the range of 95 %% is %.3g wide, and %.3g without that reading", wide(b), wide(a))
	}
	if said := strings.Join(b.Assumptions, "\n"); !strings.Contains(said, "0 bytes on 2025-12-17 is left out because the reading failed") {
		t.Errorf("it is not said:\n%s", said)
	}
	if len(b.Past) != len(wrong.Days) {
		t.Error("what was read is not shown")
	}
}

// TestWhatWasEmptied: only what came since then counts, and what leaves again is nothing on some days.
func TestWhatWasEmptied(t *testing.T) {
	s := grown(400, noisy(2))
	gone := s.Days[300].Value
	for i := range s.Days[300:] {
		s.Days[300+i].Value -= gone
	}
	r := Of(s, Ask{Days: 90})
	if r.Refusal != nil || r.History > 100 {
		t.Fatalf("%+v, of %d days", r.Refusal, r.History)
	}
	if r = Of(forecast.Series{Quantity: s.Quantity, Days: s.Days[:301]}, Ask{Days: 30}); r.Refusal == nil || !strings.Contains(r.Refusal.Why, "to 0 bytes (emptied, in another unit, or not read?) on 2025-10-28") {
		t.Errorf("%+v", r.Refusal)
	}
	logs := grown(100, func(int) float64 { return 0 })
	for i := range logs.Days {
		logs.Days[i].Value *= float64(i % 7)
	}
	if r = Of(logs, Ask{Days: 30, Bounded: true}); r.Refusal != nil || r.History != 100 {
		t.Errorf("logs that are emptied: %+v of %d days", r.Refusal, r.History)
	}
}
