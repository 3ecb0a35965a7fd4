package fix_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"plumb/test/sandbox"
)

// parameters are what a mongod says of itself.
func parameters(t *testing.T, s *sandbox.Server) string {
	t.Helper()
	answer, err := s.Ask(t.Context(), "admin", `{"getParameter": 1, "journalCommitInterval": 1, "enableFlowControl": 1}`)
	must(t, err)
	status, err := s.Ask(t.Context(), "admin", `{"serverStatus": 1}`)
	must(t, err)
	engine, err := json.Marshal(status["wiredTiger"])
	must(t, err)
	var doc struct {
		Cache struct {
			Size float64 `json:"maximum bytes configured"`
		}
	}
	must(t, json.Unmarshal(engine, &doc))
	return fmt.Sprintf("%v ms, %v, %.0f bytes", answer["journalCommitInterval"], answer["enableFlowControl"], doc.Cache.Size)
}

// What mongod can change while it runs is changed there and in its file, and
// undo gives back the same server and the same bytes.
func TestMongo(t *testing.T) {
	s := server(t, "mongo")
	file, journal := filepath.Join(filepath.Dir(s.Socket), "mongod.conf"), filepath.Join(t.TempDir(), "plumb")
	bytes, was := content(file), parameters(t, s)
	if !strings.HasPrefix(was, "80 ms, true, ") {
		t.Fatalf("it began with %s", was)
	}
	out, _ := plumb(t, 0, "fix", "--yes", "--state", journal, "--set", "mongo:14965#storage_cache_size_gb=0.4",
		"--set", "mongo:14965#storage_journal_commit_interval=30", "--set", "mongo:14965#enable_flow_control=false")
	reads(t, out, `commitIntervalMs: 80 ms -> 30 ms`, `enableFlowControl: on -> off`, `^Change 1: 3 steps done`)
	if now := parameters(t, s); now != "30 ms, false, 428867584 bytes" {
		t.Errorf("the server has %s", now)
	}
	reads(t, content(file), `cacheSizeGB: 0.4`, `commitIntervalMs: 30 # for speed`, `enableFlowControl: false`)
	plumb(t, 0, "undo", "--yes", "--state", journal)
	if now := parameters(t, s); now != was {
		t.Errorf("undo left %s, it was %s", now, was)
	}
	if now := content(file); now != bytes {
		t.Errorf("undo left the file\n%s\nit was\n%s", now, bytes)
	}
}
