package program

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// kept counts what was kept of each test.
var kept = struct {
	sync.Mutex
	of map[string]int
}{of: map[string]int{}}

// Keep keeps what plumb stack --json printed on a real host, where PLUMB_MET
// names a directory: go run ./test/coverage -write DIR/*.json then records which
// rules have met it. Of a test that looks several times each look is kept. Do not give it a host that a test made up, and run
// nothing else on the machine: plumb sees other servers and pools too.
func Keep(t *testing.T, document []byte) {
	t.Helper()
	dir := os.Getenv("PLUMB_MET")
	if dir == "" {
		return
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	kept.Lock()
	kept.of[t.Name()]++
	n := kept.of[t.Name()]
	kept.Unlock()
	name := strings.ReplaceAll(t.Name(), "/", "-")
	if n > 1 {
		name += fmt.Sprintf("-%d", n)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".json"), document, 0o644); err != nil {
		t.Fatal(err)
	}
}
