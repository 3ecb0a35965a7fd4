package record

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"plumb/internal/stack"
)

// BenchmarkDay records 20 minutes of 1,500 values a second, made up: most of
// them counters that move, a third that do not, some shares, with sessions and
// 300 statements. It reports bytes a value and megabytes a day. All that moves is
// chance, and chance cannot be packed: whoever keeps it exactly needs
// least-MB/day for the values of the finest tier alone. A real host is in
// TestDayOfARealHostFits.
func BenchmarkDay(b *testing.B) {
	for b.Loop() {
		dir := filepath.Join(b.TempDir(), "watch")
		w, err := Open(b.Context(), Options{Dir: dir, Now: func() time.Time { return sunday }, Counter: madeCounter})
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
		b.ReportMetric(chance()*86400/8/1e6, "least-MB/day")
		for _, l := range levels {
			b.ReportMetric(float64(sumOf(b, dir, fmt.Sprintf(`SELECT coalesce(sum(length(data)), 0) FROM block WHERE tier = %d`, l.tier)))*1440/minutes/1e6, fmt.Sprintf("tier-%d-MB/day", l.tier))
		}
		for _, part := range []string{"block", "session_sample", "digest_delta", "schema", "digest", "stack"} {
			column := map[string]string{"schema": "columns", "digest": "columns", "stack": "columns"}[part]
			if column == "" {
				column = "data"
			}
			b.ReportMetric(float64(sumOf(b, dir, `SELECT coalesce(sum(length(`+column+`)), 0) FROM `+part))*1440/minutes/1e6, part+"-MB/day")
		}
	}
}

// chance is how many bits of chance a second of the made values has.
func chance() float64 {
	rare := -(1./50*math.Log2(1./50) + 49./50*math.Log2(49./50))
	return 150 * (3*math.Log2(300) + math.Log2(100) + math.Log2(50) + math.Log2(10000) + rare)
}

// madeCounter tells which of the made values are counters.
func madeCounter(_ stack.Ref, name string) bool {
	return strings.Contains("01236", name[len(name)-1:])
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

// thirtyDays makes a recording of 30 days out of one hour of 1,500 values a
// second, which each hour after it has again: what is asked is how long finding
// and unpacking take.
func thirtyDays(b *testing.B) (dir string, end time.Time) {
	dir = filepath.Join(b.TempDir(), "watch")
	w, err := Open(b.Context(), Options{Dir: dir, Now: func() time.Time { return sunday }, Room: func() (int64, int64, error) { return 1, 1, nil }})
	if err != nil {
		b.Fatal(err)
	}
	m := newMaker(4, 150)
	feed(w, m, 70)
	if err := w.Close(b.Context()); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(dir, File))
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	end = sunday.Add(30 * 24 * time.Hour)
	for _, l := range levels {
		keep := min(l.keep, 30*24*time.Hour)
		for t0 := end.Add(-keep); t0.Before(end); t0 = t0.Add(l.span) {
			like := sunday.Truncate(time.Hour).Add(time.Hour).Add(t0.Sub(t0.Truncate(time.Hour)) % time.Hour).Truncate(l.span)
			var id int64
			var schema string
			var data []byte
			if err := db.QueryRowContext(b.Context(), `SELECT id, schema, data FROM block WHERE tier = ? AND t0 <= ? ORDER BY t0 DESC LIMIT 1`, l.tier, like.UnixNano()).Scan(&id, &schema, &data); err != nil {
				b.Fatal(err)
			}
			if _, err := db.ExecContext(b.Context(), `INSERT INTO block (tier, t0, last, schema, data, crc) VALUES (?, ?, ?, ?, ?, ?)`,
				l.tier, t0.UnixNano(), t0.Add(l.span-time.Second).UnixNano(), schema, data, sum(data, schema, int64(l.tier), t0.UnixNano())); err != nil {
				b.Fatal(err)
			}
		}
	}
	if _, err := db.ExecContext(b.Context(), `DELETE FROM block WHERE t0 < ?`, end.Add(-30*24*time.Hour+2*time.Hour).UnixNano()); err != nil {
		b.Fatal(err) // the hour itself
	}
	return dir, end
}

// BenchmarkOpenMinute opens a recording of 30 days and reads one minute, as old
// as its name says, and the ten minutes before that a judge is fed with.
func BenchmarkOpenMinute(b *testing.B) {
	dir, end := thirtyDays(b)
	info, err := os.Stat(filepath.Join(dir, File))
	if err != nil {
		b.Fatal(err)
	}
	for _, age := range []time.Duration{time.Hour, 47 * time.Hour, 5 * 24 * time.Hour, 29 * 24 * time.Hour} {
		b.Run(age.String(), func(b *testing.B) {
			for b.Loop() {
				r, err := OpenReader(b.Context(), dir)
				if err != nil {
					b.Fatal(err)
				}
				n, at := 0, end.Add(-age)
				if err := r.Each(b.Context(), at.Add(-10*time.Minute), at.Add(time.Minute), func(i Item) error {
					if i.Batch != nil {
						n++
					}
					return nil
				}); err != nil {
					b.Fatal(err)
				}
				if n == 0 {
					b.Fatal("nothing is there")
				}
				r.Close()
			}
			b.ReportMetric(float64(info.Size())/1e6, "MB")
		})
	}
}
