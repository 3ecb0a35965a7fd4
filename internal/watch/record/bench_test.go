package record

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"
	"time"

	"plumb/internal/stack"
)

// BenchmarkDay records 20 minutes of 1,500 values a second, made up: most of
// them counters that move, a third that do not, some shares, with sessions and
// 300 statements. It reports bytes a value and megabytes a day.
func BenchmarkDay(b *testing.B) {
	for b.Loop() {
		dir := filepath.Join(b.TempDir(), "watch")
		w, err := Open(b.Context(), Options{Dir: dir, Now: func() time.Time { return sunday }, Counter: func(stack.Ref, string) bool { return false }})
		if err != nil {
			b.Fatal(err)
		}
		const minutes = 20
		feed(w, newMaker(4, 150), minutes)
		if err := w.Close(b.Context()); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(dir, File))
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(info.Size())/(minutes*60*1500), "B/value")
		b.ReportMetric(float64(info.Size())*1440/minutes/1e6, "MB/day")
		for _, part := range []string{"block", "session_sample", "digest_delta", "schema", "digest", "stack"} {
			column := map[string]string{"schema": "columns", "digest": "columns", "stack": "columns"}[part]
			if column == "" {
				column = "data"
			}
			b.ReportMetric(float64(sumOf(b, dir, `SELECT coalesce(sum(length(`+column+`)), 0) FROM `+part))*1440/minutes/1e6, part+"-MB/day")
		}
	}
}

func sumOf(b *testing.B, dir, query string) (n int64) {
	db, err := sql.Open("sqlite", filepath.Join(dir, File))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRowContext(context.Background(), query).Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkEncode is what a minute of 1,500 values a second costs the processor,
// without the disk.
func BenchmarkEncode(b *testing.B) {
	m, full := newMaker(5, 150), &minute{t0: sunday}
	for range 60 {
		for _, batch := range m.second() {
			full.add(entry{Batch: batch}, 0)
		}
	}
	words := newWords()
	for _, d := range words.each() {
		d.known = map[[16]byte]*word{}
	}
	b.ReportAllocs()
	for b.Loop() {
		words.flushOf(1, seconds, full, nil, &bases{})
	}
}

// BenchmarkTake is what the sampling path pays for a second of 1,500 values.
func BenchmarkTake(b *testing.B) {
	m := newMaker(6, 150)
	batches := m.second()
	full := &minute{t0: sunday}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if n++; n%60 == 0 {
			full = &minute{t0: sunday}
		}
		for _, batch := range batches {
			full.add(entry{Batch: batch}, 0)
		}
	}
}
