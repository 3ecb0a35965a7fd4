package deaths

import (
	"os"
	"path/filepath"
	"testing"

	"plumb/internal/change"
	"plumb/internal/protect/tables"
	"plumb/internal/stack"
)

// TestDryRunLeavesWhatIsLeft: to show how a table is brought back nothing is done to the server: what a killed run left there goes with
// the next that brings one.
func TestDryRunLeavesWhatIsLeft(t *testing.T) {
	s := OnBtrfs(t)
	table := filepath.Join(s.Plan.Server.Dir("data"), "shop", "plumb_left")
	record := filepath.Join(s.State, "tables", "plumb_left.json")
	must(t, os.WriteFile(table, nil, 0o600))
	must(t, os.MkdirAll(filepath.Dir(record), 0o700))
	must(t, os.WriteFile(record, []byte(`{"form": 1, "server": "standin:1", "identity": "one", "table": ["shop", "plumb_left"]}`), 0o600))
	for _, dry := range []bool{true, false} {
		_, _, err := s.Alive().Tables.Run(t.Context(), &stack.Stack{}, s.Point, tables.Options{Table: tables.Name{"shop", "orders"}, As: "back", Memory: 256 << 20, DryRun: dry},
			change.Begin{Host: "here", User: "root"}, func(tables.Plan) error { return nil })
		must(t, err)
		for _, file := range []string{table, record} {
			if _, err := os.Stat(file); (err == nil) != dry {
				t.Errorf("dry run %t: %s is there: %v", dry, file, err)
			}
		}
	}
}
