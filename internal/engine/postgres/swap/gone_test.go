package swap

import (
	"slices"
	"testing"

	"plumb/internal/host/hosttest"
)

// What a major version lost is in the way; what came to it with a minor release is not, nor what nobody knows.
func TestGone(t *testing.T) {
	s := Swapper{Catalog: hosttest.Catalog(t)}
	names := []string{"file_extend_method", "max_connections", "of.an_extension", "output_plugin_libraries", "old_snapshot_threshold", "stats_temp_directory"}
	for major, want := range map[string][]string{
		"15": {"file_extend_method", "stats_temp_directory"},
		"16": {"stats_temp_directory"},
		"18": {"old_snapshot_threshold", "stats_temp_directory"},
	} {
		if got := s.gone(names, major); !slices.Equal(got, want) {
			t.Errorf("%s has lost %q, not %q", major, got, want)
		}
	}
}
