package metrics

import (
	"regexp"
	"slices"
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/view/metrics/naming"
	"plumb/internal/watch"
)

// TestThePanelsHaveData: a panel of a fact is about one that a source reads, or that the tree of a moment shows. A window tells
// more than that, and nothing of it is exported.
func TestThePanelsHaveData(t *testing.T) {
	cat := hosttest.Windows(t)
	exported := map[string]bool{}
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			if s, ok := naming.ShapeOf(f); ok {
				exported[s.Name] = exported[s.Name] || f.Every > 0 || watch.Shows(k.Name, f.Name)
			}
		}
	}
	text, err := Dashboard(cat)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Expressions(text)
	if err != nil {
		t.Fatal(err)
	}
	name, facts := regexp.MustCompile(`plumb_[a-z0-9_]+`), 0
	for _, expr := range all {
		of := name.FindString(expr)
		is, fact := exported[of]
		if fact && !is {
			t.Errorf("%s: nothing exports %s", expr, of)
		}
		if fact {
			facts++
		}
	}
	if facts < 100 {
		t.Errorf("only %d expressions are about facts", facts)
	}
	for _, want := range []string{"plumb_block_reads_total", "plumb_mysql_threads_connected", "plumb_mysql_checkpoint_age_bytes", "plumb_postgres_connections_used", "plumb_host_memory_available_bytes",
		"plumb_filesystem_free_bytes", "plumb_zfs_arc_size_bytes", "plumb_zfs_tx_delayed_total", "plumb_block_response_ratio"} {
		if !slices.ContainsFunc(all, func(expr string) bool { return name.FindString(expr) == want }) {
			t.Errorf("no panel is about %s", want)
		}
	}
}
