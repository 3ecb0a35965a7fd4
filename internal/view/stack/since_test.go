package stack

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/host/hosttest"
	"plumb/internal/stack"
	"plumb/internal/view/page"
	"plumb/internal/view/schema"
	"plumb/internal/view/viewtest"
)

// later is the host of the goldens a minute after, with a server that was
// asked for pages, one that was started anew, and a setting that was changed.
func later(t *testing.T) (stack.Difference, *stack.Stack, *catalog.Catalog) {
	t.Helper()
	cat := hosttest.Catalog(t)
	before := viewtest.ZfsHost()
	before.TakenAt = time.Date(2026, 11, 23, 3, 12, 0, 0, time.UTC)
	db := before.OfKind("mysql")[0]
	db.Set("uptime", stack.Int(5000), "SHOW GLOBAL STATUS")
	db.Set("buffer_pool_reads", stack.Int(1000), "SHOW GLOBAL STATUS")
	db.Set("wait_free", stack.Int(7), "SHOW GLOBAL STATUS")
	db.Set("redo_written", stack.Int(1<<30), "SHOW GLOBAL STATUS")
	db.Set("threads_running", stack.Int(3), "SHOW GLOBAL STATUS")
	now := before.Clone()
	now.TakenAt = before.TakenAt.Add(time.Minute)
	db = now.OfKind("mysql")[0]
	db.Set("uptime", stack.Int(5060), "SHOW GLOBAL STATUS")
	db.Set("buffer_pool_reads", stack.Int(181000), "SHOW GLOBAL STATUS")
	db.Set("redo_written", stack.Int(1<<30+600<<20), "SHOW GLOBAL STATUS")
	db.Set("threads_running", stack.Int(32), "SHOW GLOBAL STATUS")
	d, err := stack.Since(before, now, cat)
	if err != nil {
		t.Fatal(err)
	}
	return d, now, cat
}

func TestSince(t *testing.T) {
	d, now, cat := later(t)
	viewtest.Golden(t, "since.txt", Since(d, now, cat, page.Screen{Width: 80}))
	viewtest.FitsSchema(t, schema.Of("stack-since"), SinceDocument(d, "test"))
	viewtest.FitsSchema(t, schema.Of("stack-since"), SinceDocument(stack.Difference{}, "test"))
}

func TestAStackIsReadBack(t *testing.T) {
	want, _ := json.Marshal(Document(viewtest.ZfsHost(), "test"))
	s, err := Parse(want)
	if err != nil {
		t.Fatal(err)
	}
	if got, _ := json.Marshal(Document(s, "test")); string(got) != string(want) {
		t.Error("a stack that was written and read back is another")
	}
	for bad, says := range map[string]string{
		"":                              "not a document",
		`{"kind": "check"}`:             "not a document",
		`{"kind": "stack"}`:             "not a document",
		`{"kind": "stack", "stack": 1}`: "not a document",
		strings.Replace(string(want), `"plumb":1`, `"plumb":2`, 1): "it is of version 2",
	} {
		if _, err := Parse([]byte(bad)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: got %v, want %s", bad, err, says)
		}
	}
}
