package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

func TestEvidenceIsWhatDecided(t *testing.T) {
	s := &stack.Stack{}
	thing(s, "host", "h", map[string]any{"memory": 8})
	thing(s, "server", "a", map[string]any{"connections": 5, "pool": 4096, "sync": true, "method": nil})
	for when, want := range map[string]string{
		"db.pool > 1 && db.connections > 1":                     "pool connections",
		"db.connections > 1 || db.pool > 1":                     "connections",
		"db.connections > 9 || db.pool > 1":                     "connections pool",
		"db.page > 1 || db.pool > 1":                            "pool",
		"!has(db.method) && db.sync && host.memory > 1":         "method sync memory",
		"has(db.pool) && db.sync":                               "sync",
		"db.pool > 1 && db.pool < 9999 && db.pool != 5":         "pool",
		`db.sync ? db.pool > 1 : db.connections > 1`:            "sync pool",
		`show(db.pool) == "4K" && (db.sync || db.method == "")`: "pool sync",
	} {
		got := judge(t, ruleText("db in server", "'"+when+"'", ""), s)
		var names []string
		for _, e := range got[0].Evidence {
			names = append(names, e.Name)
		}
		if strings.Join(names, " ") != want {
			t.Errorf("%s: got %v, want %s", when, names, want)
		}
	}
}

func TestTextsShowFactsWithTheirUnit(t *testing.T) {
	s := &stack.Stack{}
	thing(s, "server", "a", map[string]any{"connections": 5, "pool": 16384, "sync": true, "hit_rate": 0.931, "tables": []string{"x", "y"}, "method": nil})
	for text, want := range map[string]string{
		"{db.pool} pages":                "16K pages",
		"{db.pool / 2} plain":            "8192 plain",
		"{show(db.pool / 2)} with unit":  "8K with unit",
		"{show(3 * MiB)}":                "3M",
		"{db.sync} {db.tables}":          "on x, y",
		"{db.hit_rate}":                  "93.1 %",
		"{db.page} and {db.method}":      "? and ?",
		"{db.page > 1 || db.sync}":       "on",
		"{{not this}} {db.connections}":  "{not this} 5",
		`{db.sync ? "a}b" : "c"}`:        "a}b",
		"{db}":                           "server:a",
		"{double(db.connections) / 3.0}": "1.67",
		"{round(100.0 * db.hit_rate)} %": "93 %",
		"é {db.pool} ü":                  "é 16K ü",
		`{show(1.5, "percent")}`:         "1.5 %",
		"{1 / (db.connections - 5)}":     "?",
	} {
		got := judge(t, ruleText("db in server", "db.sync", "remedy: [{do: "+fmt.Sprintf("%q", text)+"}]"), s)
		if len(got[0].Remedies) != 1 || got[0].Remedies[0].Do != want {
			t.Errorf("%s: got %q, want %q", text, got[0].Remedies, want)
		}
	}
}

func TestRemedies(t *testing.T) {
	s := &stack.Stack{}
	db := thing(s, "server", "a", map[string]any{"connections": 5, "pool": 16384, "sync": false, "method": nil, "version": "8.4.1"})
	thing(s, "volume", "v", map[string]any{"record": 131072})
	db.Link("data", stack.Ref{Kind: "volume", Name: "v"})
	for _, c := range []struct{ name, remedy, want string }{
		{"knob_of_linked_thing", `{knob: v#record, to: db.pool, note: "now {v.record}"}`, "volume:v#record = 16384 (now 128K)"},
		{"constant", `{knob: db#sync, to: true}`, "server:a#sync = on ()"},
		{"text_value", `{knob: db#method, to: '"direct"'}`, "server:a#method = direct ()"},
		{"whole_number_for_percent", `{knob: db#pct, to: 50}`, "server:a#pct = 50 ()"},
		{"sized", `{knob: db#pool, to: "roundUp(3 * db.pool + 1, 16 * KiB)"}`, "server:a#pool = 65536 ()"},
		{"chosen_by_version", `{knob: db#pool, to: 2048, if: 'version(db.version) < version("8.0")'}, {knob: db#pool, to: 4096, if: 'version(db.version) >= version("8.0")'}`, "server:a#pool = 4096 ()"},
		{"condition_unknown", `{do: no, if: db.page > 1}, {do: yes}`, "do yes ()"},
		{"condition_absent", `{do: no, if: 'db.method == "direct"'}`, ""},
		{"value_unknown", `{knob: v#record, to: db.page, note: see}`, "do change record; the value depends on page, which is not known here (see)"},
		{"value_absent", `{knob: db#method, to: db.method}`, ""},
		{"value_not_taken", `{knob: db#pool, to: db.connections}`, "do change pool; no value can be proposed: pool takes 1K at least, not 5 bytes ()"},
		{"value_not_computable", `{knob: db#pool, to: 5 / (db.connections - 5)}`, `do change pool; no value can be proposed: compute 5 / (db.connections - 5): division by zero ()`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judge(t, ruleText("db in server, v in db.data", "db.pool > 1", "remedy: ["+c.remedy+"]"), s)
			if diff := cmp.Diff(c.want, remedies(got[0])); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func remedies(v rule.Evaluation) string {
	var out []string
	for _, r := range v.Remedies {
		text := fmt.Sprintf("%s = %s (%s)", r.Knob, r.To, r.Note)
		if r.Do != "" {
			text = fmt.Sprintf("do %s (%s)", r.Do, r.Note)
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}
