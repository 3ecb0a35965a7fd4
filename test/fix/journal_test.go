package fix_test

import (
	"bytes"
	"testing"
	"time"

	"plumb/internal/change"
	"plumb/internal/journal"
)

// journalThatRuns is a valid journal of one done switch, whose undo runs a command.
func journalThatRuns(t *testing.T, argv ...string) []byte {
	t.Helper()
	var log journal.Log
	var out bytes.Buffer
	for _, r := range []struct {
		kind string
		body any
	}{
		{"begin", change.Begin{Version: 1, Plumb: "test", Host: "h", User: "u"}},
		{"intent", map[string]any{"step": 0, "made": change.Made{Before: "z"}, "act": change.Act{Switch: &change.Switch{On: "x",
			Inspect: change.Inspection{File: "/proc/sys/kernel/ostype"}, After: "Linux", Undo: []change.Op{{Argv: argv}}}}}},
		{"done", map[string]int{"intent": 2}},
	} {
		text, err := log.Append(time.Now(), r.kind, r.body)
		must(t, err)
		out.Write(text)
	}
	return out.Bytes()
}
