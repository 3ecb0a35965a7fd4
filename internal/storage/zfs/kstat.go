package zfs

import (
	"strconv"
	"strings"

	"plumb/internal/stack"
	"plumb/internal/zfs"
)

// figure is one named counter of a kstat and the fact it becomes.
type figure struct{ name, fact string }

// arcFigures are taken from arcstats. Counters run since the module was
// loaded.
var arcFigures = []figure{
	{"size", "arc_size"}, {"c", "arc_target"}, {"c_min", "arc_min"}, {"c_max", "arc_limit"},
	{"data_size", "arc_data"}, {"metadata_size", "arc_metadata"},
	{"compressed_size", "arc_compressed"}, {"uncompressed_size", "arc_uncompressed"},
	{"demand_data_hits", "arc_demand_data_hits"}, {"demand_data_iohits", "arc_demand_data_iohits"},
	{"demand_data_misses", "arc_demand_data_misses"},
	{"demand_metadata_hits", "arc_demand_metadata_hits"}, {"demand_metadata_iohits", "arc_demand_metadata_iohits"},
	{"demand_metadata_misses", "arc_demand_metadata_misses"},
	{"prefetch_data_hits", "arc_prefetch_data_hits"}, {"prefetch_data_misses", "arc_prefetch_data_misses"},
	{"memory_throttle_count", "arc_throttled"}, {"arc_no_grow", "arc_no_grow"},
	{"l2_hits", "l2_hits"}, {"l2_misses", "l2_misses"}, {"l2_size", "l2_size"}, {"l2_asize", "l2_asize"},
	{"l2_hdr_size", "l2_headers"}, {"l2_io_error", "l2_io_errors"}, {"l2_cksum_bad", "l2_checksum_errors"},
}

var zilFigures = []figure{
	{"zil_commit_count", "zil_commits"}, {"zil_itx_indirect_count", "zil_indirect"},
	{"zil_itx_metaslab_slog_bytes", "zil_slog_bytes"}, {"zil_itx_metaslab_normal_bytes", "zil_normal_bytes"},
}

var txFigures = []figure{
	{"dmu_tx_dirty_delay", "tx_delayed"}, {"dmu_tx_dirty_throttle", "tx_throttled"},
	{"dmu_tx_dirty_over_max", "tx_over_max"}, {"dmu_tx_wrlog_delay", "tx_log_delayed"},
}

func factNames(figures []figure) []string {
	names := make([]string, len(figures))
	for i, f := range figures {
		names[i] = f.fact
	}
	return names
}

// setFigures records the figures; one the kstat does not list does not exist
// in this version.
func setFigures(t *stack.Thing, stats map[string]int64, figures []figure, source string) {
	for _, f := range figures {
		if n, ok := stats[f.name]; ok {
			t.Set(f.fact, stack.Int(n), source)
		} else {
			t.SetAbsent(f.fact, source)
		}
	}
}

// parseKstat reads the "name type data" lines of a named kstat. Lines of
// another shape, the two header lines among them, are passed over.
func parseKstat(text []byte) map[string]int64 {
	stats := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) != 3 || !isNumber(fields[1]) {
			continue
		}
		if n, ok := zfs.ParseCount(fields[2]); ok {
			stats[fields[0]] = n
		}
	}
	return stats
}

func isNumber(s string) bool { _, ok := zfs.ParseCount(s); return ok }

// syncTimes reads how long the last transaction groups took to be written,
// in microseconds, from a pool's txgs kstat. Groups still on their way have
// no time yet.
func syncTimes(text []byte) []int64 {
	const maxGroups = 10_000
	var times []int64
	column := -1
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if column < 0 {
			for i, f := range fields {
				if f == "stime" {
					column = i
				}
			}
			continue
		}
		if len(fields) <= column || len(fields) < 3 || fields[2] != "C" || len(times) == maxGroups {
			continue
		}
		if ns, ok := zfs.ParseCount(fields[column]); ok {
			times = append(times, ns/1000)
		}
	}
	return times
}

func parseHex(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 16, 64)
	return n, err == nil
}
