package sampler

import (
	"strings"
	"testing"

	"plumb/internal/engine/samplertest"
	"plumb/internal/series"
	"plumb/test/sandbox"
)

// TestBulkWritesAreNoLackOfRoom: what clients write and evict in a ring of their own is not counted as making room, and what they
// read in it is read. The columns are those of pg_stat_io in the manuals of 16 to 18.
func TestBulkWritesAreNoLackOfRoom(t *testing.T) {
	for major, want := range map[int][]string{
		16: {"sum(reads) AS reads", "sum(writes) FILTER (WHERE context = 'normal') AS writes", "sum(evictions) FILTER (WHERE context = 'normal') AS evictions"},
		18: {"sum(read_bytes) / current_setting('block_size')::numeric AS reads", "sum(write_bytes) FILTER (WHERE context = 'normal') / current_setting('block_size')::numeric AS writes",
			"sum(evictions) FILTER (WHERE context = 'normal') AS evictions"},
	} {
		for _, part := range want {
			if q := ioQuery(traits{major: major}); !strings.Contains(q, part) {
				t.Errorf("%d asks %s, without %s", major, q, part)
			}
		}
	}
}

// TestATableFilledInBulk writes 60 MB through the ring of CREATE TABLE AS, beside buffers that have room.
func TestATableFilledInBulk(t *testing.T) {
	for _, major := range []string{"17", "18"} {
		t.Run(major, func(t *testing.T) {
			sandbox.NeedTime(t, "PostgreSQL "+major+" is fetched: PLUMB_REAL=1")
			bin, err := sandbox.PostgresTree(major)
			sandbox.Need(t, err)
			l := start(t, sandbox.PostgresOptions{Bindir: bin, Settings: settings + "\nshared_buffers = 128MB"})
			before := l.Must("io")
			l.Exec("CREATE TABLE filled AS SELECT i, repeat('x', 1000) FROM generate_series(1, 60000) i", "SELECT pg_stat_force_next_flush()")
			written := 0
			after := l.Until("io", "the ring was written", func(series.Batch) bool {
				sandbox.Need(t, l.DB.QueryRow("SELECT sum(writes) FROM pg_stat_io WHERE backend_type = 'client backend' AND context = 'bulkwrite'").Scan(&written))
				return written > 200
			})
			for _, name := range []string{"client_writes", "client_evictions"} {
				if grew := samplertest.Reads(after, name) - samplertest.Reads(before, name); grew > 100 {
					t.Errorf("%s grew by %v", name, grew)
				}
			}
			t.Logf("%d writes in bulk", written)
		})
	}
}
