package record

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/series"
	"plumb/internal/stack"
)

// many is a source that gives so many series each ten seconds; their names begin
// with prefix.
func many(at time.Time, n int, prefix string) series.Batch {
	b := series.Batch{Source: "many", Every: 10 * time.Second, At: at, Took: time.Millisecond}
	of := stack.Ref{Kind: "block", Name: prefix}
	for i := range n {
		b.Set(of, fmt.Sprint("value_", i), float64(i))
	}
	return b
}

// whole wants so many batches to be read back with so many values, and nothing to be lost.
func whole(t *testing.T, items []Item, batches, readings int) {
	t.Helper()
	n, values, last := 0, 0, time.Time{}
	for _, i := range items {
		if i.Lost != nil {
			t.Errorf("lost at %s: %s", i.At, i.Lost.Why)
		}
		if i.At.Before(last) {
			t.Errorf("after %s comes %s", last, i.At)
		}
		last = i.At
		if i.Batch == nil {
			continue
		}
		n, values = n+1, values+len(i.Batch.Readings)
	}
	if n != batches || values != readings {
		t.Fatalf("%d batches with %d values are left, want %d with %d", n, values, batches, readings)
	}
}

// TestVeryManySeriesAreKeptInAllTiers: a host with dozens of servers has more values
// in ten minutes than one block may hold. Those that are missing count, too.
func TestVeryManySeriesAreKeptInAllTiers(t *testing.T) {
	const n = 36_000
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	for i := range 72 { // 12 minutes, of which 10 are rolled up
		at := sunday.Add(time.Duration(10*i) * time.Second)
		if i%12 == 0 {
			w.Picture(at, &stack.Stack{TakenAt: at})
		}
		series := 1
		if i == 0 {
			series += n
		}
		w.Batch(many(at, series, "sda"))
		calm(w)
	}
	closed(t, w)
	whole(t, tierItems(t, dir, levels[0]), 72, n+72)
	coarse := tierItems(t, dir, levels[1])
	whole(t, coarse, 60, n+60)
	if pictures := len(coarse) - 60; pictures != 5 {
		t.Errorf("%d pictures are in the ten minutes, want 5", pictures)
	}
}

// TestNamesThatComeAndGo: each batch has names of its own, and all of them are read back.
func TestNamesThatComeAndGo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	for i := range 60 {
		w.Batch(many(sunday.Add(time.Duration(i)*time.Second), 3000, fmt.Sprint("sd", i)))
		calm(w)
	}
	closed(t, w)
	whole(t, tierItems(t, dir, levels[0]), 60, 60*3000)
}

// TestABatchOfTooMuchIsCutAndSaysSo: the rest of its minute is not lost for it.
func TestABatchOfTooMuchIsCutAndSaysSo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	given := many(sunday, 1<<18, "sda")
	w.Batch(given)
	closed(t, w)
	items := tierItems(t, dir, levels[0])
	whole(t, items, 1, mostReadings)
	if gaps := items[0].Batch.Gaps; len(gaps) != 1 || !strings.Contains(gaps[0].Why, fmt.Sprint(1<<18-mostReadings, " values left out")) {
		t.Errorf("its gaps are %+v", gaps)
	}
	if len(given.Gaps) != 0 || len(given.Readings) != 1<<18 {
		t.Error("what others are given was changed")
	}
}

// TestStatementsOfManyServersAreKept: each has its rows for itself, so that most
// digests are missing in most rows.
func TestStatementsOfManyServersAreKept(t *testing.T) {
	const servers, digests = 30, 50
	dir := filepath.Join(t.TempDir(), "watch")
	w := opened(t, Options{Dir: dir})
	for i := range 72 {
		at := sunday.Add(time.Duration(10*i) * time.Second)
		for s := range servers {
			b := series.Batch{Source: fmt.Sprint("mysql:", s, " digests"), Every: 10 * time.Second, At: at.Add(time.Duration(s) * time.Millisecond)}
			for d := range digests {
				b.Statements = append(b.Statements, series.Statement{Of: stack.Ref{Kind: "mysql", Name: fmt.Sprint(s)}, ID: fmt.Sprint(d), Text: "SELECT ?", Calls: float64(i)})
			}
			w.Batch(b)
		}
		calm(w)
	}
	closed(t, w)
	items := tierItems(t, dir, levels[1])
	whole(t, items, servers*60, 0)
	for _, i := range items {
		if i.Batch != nil && len(i.Batch.Statements) != digests {
			t.Fatalf("a batch has %d statements, want %d", len(i.Batch.Statements), digests)
		}
	}
}
