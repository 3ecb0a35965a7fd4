package catalog_test

import (
	"testing"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/knowledge"
)

// The samples and windows of the tree load, and a window has of a counter its
// rate and of a gauge its mean, least, most and growth.
func TestWindows(t *testing.T) {
	cat, err := catalog.Windows(knowledge.FS)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]catalog.Type{
		"reads_rate": catalog.Rate, "queue_ms_rate": catalog.Float, "in_flight": catalog.Float, "in_flight_max": catalog.Int,
		"in_flight_growth": catalog.Rate, "read_response": catalog.Micros,
	} {
		f := cat.Fact("block", name)
		if f == nil || f.Type != want {
			t.Errorf("block %s is %+v, want type %s", name, f, want)
		}
	}
	plain := hosttest.Catalog(t)
	if plain.Fact("block", "reads_rate") != nil || plain.Fact("block", "read_bytes") != nil {
		t.Error("the catalogue of a check has facts of windows")
	}
}
