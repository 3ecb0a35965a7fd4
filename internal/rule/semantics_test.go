package rule_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/rule"
	"plumb/internal/stack"
)

func TestConditionIsThreeValued(t *testing.T) {
	known := map[string]any{"connections": 5, "pool": 4096, "sync": true, "version": "8.0.36", "hit_rate": 0.5,
		"tables": []string{"a", "b"}, "method": nil, "pct": 10.0}
	for when, want := range map[string]rule.Outcome{
		`db.connections > 4`:                           rule.Fires,
		`db.connections > 5`:                           rule.Quiet,
		`db.page > 1`:                                  rule.Unknown,
		`db.connections > 4 || db.page > 1`:            rule.Fires,
		`db.page > 1 || db.connections > 4`:            rule.Fires,
		`db.connections > 5 && db.page > 1`:            rule.Quiet,
		`db.page > 1 && db.connections > 5`:            rule.Quiet,
		`db.connections > 4 && db.page > 1`:            rule.Unknown,
		`db.connections > 5 || db.page > 1`:            rule.Unknown,
		`!(db.page > 1)`:                               rule.Unknown,
		`!(db.page > 1 && db.connections > 5)`:         rule.Fires,
		`db.page > 1 ? db.sync : db.sync`:              rule.Unknown,
		`db.method == "direct"`:                        rule.Quiet,
		`!(db.method == "direct")`:                     rule.Quiet,
		`has(db.method)`:                               rule.Quiet,
		`!has(db.method)`:                              rule.Fires,
		`!has(db.method) || db.method == "direct"`:     rule.Fires,
		`has(db.method) && db.method == "direct"`:      rule.Quiet,
		`has(db.page)`:                                 rule.Unknown,
		`!has(db.page)`:                                rule.Unknown,
		`db.method == "direct" || db.sync`:             rule.Fires,
		`db.method == "direct" && db.page > 1`:         rule.Quiet,
		`db.page > 1 && (db.sync && db.method == "x")`: rule.Quiet,
		`db.method == "direct" || db.page > 1`:         rule.Unknown,
		`version(db.version) >= version("8.0.30")`:     rule.Fires,
		`version(db.version) < version("8.0.4")`:       rule.Quiet,
		`version("26.7.0") > version("9.7")`:           rule.Fires,
		`version("10.11.6-MariaDB-1:10.11.6+maria~deb12") == version("10.11.6")`: rule.Fires,
		`db.pool == 4 * KiB`:                     rule.Fires,
		`db.hit_rate < 1`:                        rule.Fires,
		`double(db.connections) * 0.5 < 2.6`:     rule.Fires,
		`"a" in db.tables`:                       rule.Fires,
		`db.tables.exists(x, x.startsWith("b"))`: rule.Fires,
		`size(db.tables) == 2`:                   rule.Fires,
		`db.pct / 4.0 == 2.5`:                    rule.Fires,
		`host.memory > 1`:                        rule.Unknown,
		`roundUp(db.pool + 1, KiB) == 5 * KiB`:   rule.Fires,
		`roundUp(4096.5, 1024) == 5120 && round(2.5) == 3 && roundUp(-5, 4) == -4`:                         rule.Fires,
		`min(db.connections, 3) == 3 && max(1.5, 2.5) == 2.5`:                                              rule.Fires,
		`show(db.pool) == "4K" && show(2 * db.pool) == "8K" && show(db.pool / db.pool) == "1"`:             rule.Fires,
		`show(db.hit_rate) == "50 %" && show(db.connections * MiB) == "5M" && show(db.connections) == "5"`: rule.Fires,
	} {
		t.Run(when, func(t *testing.T) {
			s := &stack.Stack{}
			thing(s, "server", "a", known)
			got := judge(t, ruleText("db in server", fmt.Sprintf("%q", when), ""), s)
			if len(got) != 1 || got[0].Outcome != want || got[0].Err != nil {
				t.Errorf("got %v, want %s", outcomes(got), want)
			}
		})
	}
}

func outcomes(vs []rule.Evaluation) string {
	var out []string
	for _, v := range vs {
		text := string(v.Outcome)
		for _, r := range v.Things {
			text += " " + r.String()
		}
		for _, m := range v.Missing {
			text += fmt.Sprintf(" needs %s#%s", m.Of, m.Name)
			if m.Why != "" {
				text += " (" + m.Why + "; " + m.Hint + ")"
			}
		}
		if v.Err != nil {
			text += " error: " + v.Err.Error()
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

func TestConditionThatCannotBeComputed(t *testing.T) {
	s := &stack.Stack{}
	thing(s, "server", "a", map[string]any{"connections": 0, "version": "none", "pool": "text"})
	for when, want := range map[string]string{
		`1 / db.connections > 0`:             "division by zero",
		`version(db.version) > version("1")`: `"none" is not a version`,
		`db.pool > 1`:                        "pool of server:a is string, declared as bytes",
		`"a".matches("(" + db.version)`:      "error parsing regexp",
		`[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, [1,2,3,4,5,6,7,8,9].all(c, [1,2,3,4,5,6,7,8,9].all(d, a + b + c + d + db.connections > 0))))`: "cost limit",
	} {
		got := judge(t, ruleText("db in server", "'"+when+"'", ""), s)
		if len(got) != 1 || got[0].Outcome != rule.Unknown || got[0].Err == nil || !strings.Contains(got[0].Err.Error(), want) {
			t.Errorf("%s: got %s, want an error with %q", when, outcomes(got), want)
		}
	}
}

func TestBinding(t *testing.T) {
	s := &stack.Stack{}
	a := thing(s, "server", "a", map[string]any{"connections": 5})
	b := thing(s, "server", "b", map[string]any{"connections": 1})
	thing(s, "server", "c", map[string]any{"connections": 5})
	thing(s, "volume", "v1", map[string]any{"size": 1})
	v2 := thing(s, "volume", "v2", map[string]any{"size": 2})
	thing(s, "disk", "d", map[string]any{"spare": 10.0})
	a.Link("data", stack.Ref{Kind: "volume", Name: "v1"}, stack.Ref{Kind: "volume", Name: "v2"})
	b.Link("data")
	a.Link("redo", stack.Ref{Kind: "volume", Name: "v1"}, stack.Ref{Kind: "volume", Name: "v3"})
	v2.Link("disk", stack.Ref{Kind: "disk", Name: "d"})
	s.Gaps = []stack.Gap{{Of: stack.Ref{Kind: "server", Name: "c"}, Facts: []string{"data"}, Why: "no mountinfo", Hint: "run as root"}}
	for _, c := range []struct{ name, bindings, when, want string }{
		{"every_thing_of_a_kind", "db in server", "db.connections > 2", "fires server:a\nquiet server:b\nfires server:c"},
		{"no_thing_of_the_kind", "x in host", "x.memory > 2", ""},
		{"link_to_many_none_and_unknown", "db in server, v in db.data", "v.size > 1",
			"quiet server:a volume:v1\nfires server:a volume:v2\nunknown server:c needs server:c#data (no mountinfo; run as root)"},
		{"unknown_link_that_does_not_matter", "db in server, v in db.data", "db.connections < 2 && v.size > 1",
			"quiet server:a volume:v1\nquiet server:a volume:v2\nquiet server:c"},
		{"unknown_link_whatever_is_behind_it", "db in server, v in db.data", "db.connections > 2 || v.size > 1",
			"fires server:a volume:v1\nfires server:a volume:v2\nunknown server:c needs server:c#data (no mountinfo; run as root)"},
		{"path_unknown_half_way", "db in server, d in db.data.disk", "d.spare > 1.0",
			"fires server:a disk:d\nunknown server:a needs volume:v1#disk\nunknown server:c needs server:c#data (no mountinfo; run as root)"},
		{"chain_behind_an_unknown_link", "db in server, v in db.redo, d in v.disk", "d.spare > 1.0",
			"unknown server:a volume:v1 needs volume:v1#disk\nunknown server:a volume:v3 needs volume:v3#disk\n" +
				"unknown server:b needs server:b#redo\nunknown server:c needs server:c#redo (no reason)"},
		{"thing_named_but_not_seen", "db in server, v in db.redo", "db.connections > 2 && v.size > 0",
			"fires server:a volume:v1\nunknown server:a volume:v3 needs volume:v3#size\nquiet server:b\nunknown server:c needs server:c#redo (no reason)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := outcomes(judge(t, ruleText(c.bindings, c.when, ""), s))
			want := strings.ReplaceAll(c.want, " (no reason)", "")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

func TestDistinct(t *testing.T) {
	s := &stack.Stack{}
	for _, name := range []string{"a", "b", "c"} {
		thing(s, "server", name, map[string]any{"connections": 1})
	}
	got := outcomes(judge(t, ruleText("p in server, q in server", "p.connections == q.connections", "distinct: [p, q]"), s))
	want := "fires server:a server:b\nfires server:a server:c\nfires server:b server:c"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDistinctKeepsPairsThatNobodyMirrors(t *testing.T) {
	s := &stack.Stack{}
	db := thing(s, "server", "a", nil)
	thing(s, "volume", "v1", map[string]any{"size": 1})
	thing(s, "volume", "v2", map[string]any{"size": 1})
	db.Link("data", stack.Ref{Kind: "volume", Name: "v2"})
	db.Link("redo", stack.Ref{Kind: "volume", Name: "v1"}, stack.Ref{Kind: "volume", Name: "v2"})
	got := outcomes(judge(t, ruleText("db in server, d in db.data, r in db.redo", "d.size == r.size", "distinct: [d, r]"), s))
	if want := "fires server:a volume:v2 volume:v1"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHostIsAlwaysBound(t *testing.T) {
	s := &stack.Stack{}
	if got := judge(t, ruleText("", "host.memory > 1", ""), s); len(got) != 0 {
		t.Errorf("without a host: got %s, want no verdict", outcomes(got))
	}
	thing(s, "host", "h", map[string]any{"memory": 2})
	if got := outcomes(judge(t, ruleText("", "host.memory > 1", ""), s)); got != "fires" {
		t.Errorf("got %s, want fires", got)
	}
}
