package forecast

import (
	"slices"
	"testing"
)

// TestSound: a reading of nothing between others failed; what does not come back, or was not there before, is another thing.
func TestSound(t *testing.T) {
	const g = 1 << 30
	many := func(value float64) (list []float64) { return slices.Repeat([]float64{value}, 40) }
	for name, c := range map[string]struct {
		values     []float64
		failed     int
		from, to   int // the days between which it turned; -1: it did not
		daysWithin int
	}{
		"grows":                     {[]float64{100 * g, 101 * g, 102 * g}, 0, -1, -1, 3},
		"one of 0":                  {[]float64{100 * g, 0, 101 * g}, 1, -1, -1, 2},
		"a weekend of 0":            {slices.Concat(many(g), []float64{0, 0, 512}, many(g)), 3, -1, -1, 80},
		"nothing for a third of it": {slices.Concat(many(g), many(0), many(g)), 0, -1, -1, 120},
		"emptied":                   {[]float64{100 * g, 0, g, 2 * g}, 0, 1, 2, 4},
		"emptied on the last day":   {[]float64{100 * g, 101 * g, 0}, 0, 1, 2, 3},
		"emptied, and 0 since then": {[]float64{100 * g, 0, 0, 0}, 0, 0, 1, 4},
		"another unit":              {[]float64{107374182400, 101, 102}, 0, 0, 1, 3},
		"refilled by less":          {[]float64{100 * g, 0, 40 * g}, 0, 1, 2, 3},
		"nothing at first":          {[]float64{0, 0, 100 * g, 101 * g}, 0, 1, 2, 4},
		"removed by a thousand":     {[]float64{100 * g, g / 10, 101 * g}, 0, -1, -1, 3},
		"nothing, always":           {[]float64{0, 0, 0}, 0, -1, -1, 3},
		"emptied time and again":    {[]float64{g, 0, g, 0, g, 0, g}, 0, -1, -1, 7},
		"twice in many days":        {slices.Concat(many(g), []float64{0}, many(g), []float64{0}, many(g)), 2, -1, -1, 120},
	} {
		var s Series
		for i, v := range c.values {
			s.Days = append(s.Days, Day{at(i), v})
		}
		got := s.Sound()
		if len(got.Failed) != c.failed || len(got.Days) != c.daysWithin {
			t.Errorf("%s: %d failed and %d left, want %d and %d", name, len(got.Failed), len(got.Days), c.failed, c.daysWithin)
		}
		if c.to < 0 != got.To.Date.IsZero() || c.to >= 0 && (got.From.Date != at(c.from) || got.To.Date != at(c.to)) {
			t.Errorf("%s: it turned from %v to %v", name, got.From, got.To)
		}
	}
	if got := (Series{}).Sound(); len(got.Days) != 0 || !got.To.Date.IsZero() {
		t.Errorf("of nothing: %+v", got)
	}
}
