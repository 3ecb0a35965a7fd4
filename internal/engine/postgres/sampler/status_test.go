package sampler

import (
	"strings"
	"testing"
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
