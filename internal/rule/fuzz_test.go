package rule_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

func replace(text, old, new string) string { return strings.Replace(text, old, new, 1) }

// FuzzLoad gives the loader anything: it answers with rules or with mistakes
// that lie in the file.
func FuzzLoad(f *testing.F) {
	f.Add(sound)
	f.Add(ruleText("db in server", `'has(db.method) || "a" in db.tables'`, "distinct: [db]"))
	f.Add("")
	f.Add("- x\n- [y")
	cat := smallCatalog(f)
	f.Fuzz(func(t *testing.T, text string) {
		tested, err := rule.Test(fstest.MapFS{"x/r.yaml": {Data: []byte(text)}}, cat)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(text, "\n") + 1
		for _, m := range tested[0].Mistakes {
			if m.Line < 1 || m.Col < 1 || m.Line > lines+1 {
				t.Errorf("mistake outside the file: %v", m)
			}
		}
	})
}

// FuzzText gives the reader of texts anything, and judges with it.
func FuzzText(f *testing.F) {
	for _, text := range []string{"{db.pool}", "{{x}} {show(2 * db.pool)}", `{db.sync ? "}" : '{'}`, "{", "}", "{1/0}", "{[1,2].map(x, x*2)}"} {
		f.Add(text)
	}
	cat := smallCatalog(f)
	s := &stack.Stack{}
	thing(s, "server", "a", map[string]any{"pool": 4096, "sync": true})
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsAny(text, "\x00\r") {
			t.Skip()
		}
		quoted := "'" + strings.ReplaceAll(strings.ReplaceAll(text, "'", "''"), "\n", " ") + "'"
		file := replace(ruleText("db in server", "db.sync", "examples: []"), "say: say", "say: "+quoted)
		base, err := rule.Load(fstest.MapFS{"rules/x/r.yaml": {Data: []byte(file)}}, cat)
		if err == nil && len(base.Judge(s)) != 1 {
			t.Error("want one verdict")
		}
	})
}
