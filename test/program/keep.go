package program

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Keep keeps what plumb stack --json printed on a real host, where PLUMB_MET
// names a directory: go run ./test/coverage -write DIR/*.json then records which
// rules have met it. Do not give it a host that a test made up, and run nothing
// else on the machine: plumb sees other servers and pools too.
func Keep(t *testing.T, document []byte) {
	t.Helper()
	dir := os.Getenv("PLUMB_MET")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, strings.ReplaceAll(t.Name(), "/", "-")+".json")
	if err := os.WriteFile(name, document, 0o644); err != nil {
		t.Fatal(err)
	}
}
