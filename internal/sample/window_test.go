package sample_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/sample"
	"plumb/internal/series"
	"plumb/internal/stack"
)

var (
	start = time.Date(2026, 11, 25, 3, 12, 0, 0, time.UTC)
	disk  = stack.Ref{Kind: "block", Name: "sda"}
	db    = stack.Ref{Kind: "mysql", Name: "3306"}
)

// feed makes batches of one series, one each pace.
func feed(every time.Duration, of stack.Ref, name string, values ...float64) []series.Batch {
	var out []series.Batch
	for i, v := range values {
		b := series.Batch{Source: "x", Every: every, At: start.Add(time.Duration(i) * every)}
		b.Set(of, name, v)
		out = append(out, b)
	}
	return out
}

func over(t testing.TB, cat *catalog.Catalog, batches []series.Batch, from, to time.Duration) map[string]float64 {
	t.Helper()
	v := sample.Over(map[string][]series.Batch{"x": batches}, start.Add(from), start.Add(to), cat)
	for _, of := range v {
		return of
	}
	return nil
}

func TestWindowTells(t *testing.T) {
	cat := hosttest.Windows(t)
	for name, c := range map[string]struct {
		batches  []series.Batch
		from, to time.Duration
		of       string
		want     float64 // NaN: not known
	}{
		"rate from the batch before":      {feed(time.Second, disk, "reads", 0, 100, 200, 300, 400, 500, 600), 2 * time.Second, 7 * time.Second, "reads_rate", 100},
		"milliseconds are seconds":        {feed(time.Second, disk, "read_ms", 0, 500, 1000, 1500, 2000, 2500), 0, 6 * time.Second, "read_ms_rate", 0.5},
		"a wrap goes on":                  {feed(time.Second, disk, "read_ms", 1<<32-1500, 1<<32-500, 500, 1500, 2500, 3500), 0, 6 * time.Second, "read_ms_rate", 1},
		"a fall is left out":              {feed(time.Second, disk, "reads", 900, 1000, 0, 100, 200, 300), 0, 6 * time.Second, "reads_rate", 100},
		"ms that began anew are no wrap":  {feed(time.Second, disk, "read_ms", 1<<31+1, 0, 1000, 2000, 3000, 4000), 0, 6 * time.Second, "read_ms_rate", 1},
		"one reading tells no rate":       {feed(time.Second, disk, "reads", 5), 0, 5 * time.Second, "reads_rate", math.NaN()},
		"too short":                       {feed(time.Second, disk, "reads", 5, 6), 0, 5 * time.Second, "reads_rate", 1},
		"mean":                            {feed(time.Second, disk, "in_flight", 9, 1, 2, 3, 4, 5), time.Second, 6 * time.Second, "in_flight", 3},
		"least":                           {feed(time.Second, disk, "in_flight", 0, 1, 2, 3, 4, 5), time.Second, 6 * time.Second, "in_flight_min", 1},
		"most":                            {feed(time.Second, disk, "in_flight", 9, 1, 2, 3, 4, 5), time.Second, 6 * time.Second, "in_flight_max", 5},
		"growth":                          {feed(time.Second, disk, "in_flight", 0, 1, 2, 3, 4, 5), time.Second, 6 * time.Second, "in_flight_growth", 1},
		"a slow source":                   {feed(10*time.Second, db, "redo_fsync_us", 0, 1e6, 3e6), 22 * time.Second, 27 * time.Second, "redo_fsync_us_rate", 0.2},
		"a slow source that stopped":      {feed(10*time.Second, db, "redo_fsync_us", 0, 1e6, 3e6), 40 * time.Second, 45 * time.Second, "redo_fsync_us_rate", math.NaN()},
		"a fast source that stopped":      {feed(time.Second, disk, "reads", 0, 1, 2), 5 * time.Second, 10 * time.Second, "reads_rate", math.NaN()},
		"nothing of the time to come":     {feed(time.Second, disk, "in_flight", 1, 1, 1, 1, 1, 100), 0, 5 * time.Second, "in_flight_max", 1},
		"what a catalogue does not have ": {feed(time.Second, disk, "made_up", 1, 2), 0, 5 * time.Second, "made_up", math.NaN()},
	} {
		got, known := over(t, cat, c.batches, c.from, c.to)[c.of]
		if known == math.IsNaN(c.want) || known && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %s is %v (known %v), want %v", name, c.of, got, known, c.want)
		}
	}
}

// A server that restarted counts from nought, and may have come further since.
func TestWindowKnowsARestart(t *testing.T) {
	cat := hosttest.Windows(t)
	batches := feed(time.Second, db, "questions", 10, 20, 500, 510, 520, 530)
	for i, up := range []float64{100, 101, 1, 2, 3, 4} {
		batches[i].Set(db, "uptime", up)
	}
	if got := over(t, cat, batches, 0, 6*time.Second)["questions_rate"]; got != 10 {
		t.Errorf("rate over a restart is %v, want 10", got)
	}
}

func TestWindowAfterTheClockWentBack(t *testing.T) {
	cat := hosttest.Windows(t)
	batches := feed(time.Second, disk, "reads", 0, 100, 200, 300, 400, 500)
	again := feed(time.Second, disk, "reads", 500, 510, 520, 530, 540, 550)
	if got := over(t, cat, append(batches, again...), 0, 6*time.Second)["reads_rate"]; got != 10 {
		t.Errorf("rate of the new stretch is %v, want 10", got)
	}
}

// Whatever comes, a counter that only grows has the rate it grew by, and no
// rate is negative.
func TestRatesAreOfWhatGrew(t *testing.T) {
	cat := hosttest.Windows(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 40).Draw(t, "batches")
		var batches []series.Batch
		at, value, grows := start, 0.0, true
		for range n {
			at = at.Add(time.Duration(rapid.IntRange(500, 1500).Draw(t, "pause")) * time.Millisecond)
			by := rapid.Float64Range(-1, 1000).Draw(t, "by")
			if value+by < 0 {
				by = 0
			}
			grows = grows && by >= 0
			value += by
			b := series.Batch{Source: "x", Every: time.Second, At: at}
			b.Set(disk, "reads", value)
			b.Set(disk, "in_flight", value)
			batches = append(batches, b)
		}
		to := rapid.IntRange(1, n+10).Draw(t, "to")
		end := start.Add(time.Duration(to) * time.Second)
		got := sample.Over(map[string][]series.Batch{"x": batches}, end.Add(-5*time.Second), end, cat)[disk]
		if rate, known := got["reads_rate"]; known && (rate < 0 || rate > 2001) {
			t.Fatalf("rate %v", rate)
		}
		if mean, known := got["in_flight"]; known && (mean < got["in_flight_min"]-1e-6 || mean > got["in_flight_max"]+1e-6) {
			t.Fatalf("mean %v is not between %v and %v", mean, got["in_flight_min"], got["in_flight_max"])
		}
		if grows && len(batches) > 1 {
			first, last := batches[0], batches[n-1]
			all := sample.Over(map[string][]series.Batch{"x": batches}, first.At, last.At.Add(1), cat)[disk]
			want := (last.Readings[0].Value - first.Readings[0].Value) / last.At.Sub(first.At).Seconds()
			if rate, known := all["reads_rate"]; known && math.Abs(rate-want) > 1e-6*(1+want) {
				t.Fatalf("rate %v, want %v", rate, want)
			}
		}
	})
}
