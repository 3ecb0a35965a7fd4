package fix

import (
	"testing"

	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
)

// A kind stands for its thing where there is one of it, as explain names knobs.
func TestSetNamesAThing(t *testing.T) {
	cat := hosttest.Catalog(t)
	var s stack.Stack
	s.Add("test", stack.Observation{Things: []*stack.Thing{stack.NewThing("zfs", "module"), stack.NewThing("mysql", "3306"), stack.NewThing("mysql", "3307")}})
	for text, want := range map[string]string{
		"zfs#zfs_txg_timeout=8":         "zfs:module",
		"zfs:module#zfs_txg_timeout=8":  "zfs:module",
		"mysql:3307#sync_binlog=1":      "mysql:3307",
		"mysql#sync_binlog=1":           "", // of which?
		"dataset#recordsize=16K":        "", // there is none
		"dataset:tank/a#recordsize=16K": "dataset:tank/a",
	} {
		step, err := readSet(text, cat, &s)
		if got := step.Knob.Of.String(); err == nil && got != want || (err == nil) != (want != "") {
			t.Errorf("%s: of %q, %v; want %q", text, got, err, want)
		}
	}
}
