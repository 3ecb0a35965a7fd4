package rule_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"plumb/internal/rule"
)

// sound is a rule without mistakes; the tests below break it.
const sound = `id: x/r
title: "{show(db.page)} in {show(v.record)}"
harm: slow
gain: high
for:
  - db in server
  - v in db.data
when: v.record > 2 * db.page
say: >
  Changing one page
  rewrites {v.record / db.page}.
explain: |
  Why.
remedy:
  - knob: v#record
    to: db.page
basis: documented
versions: all
sources: [https://example.org]
examples:
  - {name: one, want: fires, given: {db: {page: 16K}, v: {record: 128K}}}
  - {name: two, want: quiet, given: {db: {page: 16K}, v: {record: 16K}}}
  - {name: three, want: unknown, given: {db: {page: 16K}}}
`

func TestSoundRuleLoads(t *testing.T) {
	if got := mistakes(t, sound); got != "" {
		t.Error(got)
	}
}

func mistakes(t *testing.T, text string) string {
	t.Helper()
	_, err := rule.Load(fstest.MapFS{"rules/x/r.yaml": {Data: []byte(text)}}, smallCatalog(t))
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMistakesNamePlaceAndWhatWasMeant(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"key", "harm: slow", "harn: slow", `rules/x/r.yaml:1:1: a rule needs the key "harm"
rules/x/r.yaml:3:1: a rule has no key "harn"; did you mean harm?`},
		{"quote_elsewhere", "sources: [https://example.org]", "sources: [https://example.org]\nquote: {says: Never., from: https://example.com}",
			`rules/x/r.yaml:20:8: the quote is from https://example.com, which is not among the sources`},
		{"quote_nowhere", "sources: [https://example.org]", "sources: [https://example.org]\nquote: {says: Never.}", `rules/x/r.yaml:20:8: a quote needs the key "from"`},
		{"key_twice", "gain: high", "gain: high\ngain: low", `rules/x/r.yaml:5:1: "gain" is there twice, first in line 4`},
		{"no_yaml", "gain: high", "gain: [high", `rules/x/r.yaml:5:4: not YAML: did not find expected ',' or ']'`},
		{"id", "id: x/r", "id: y/r", `rules/x/r.yaml:1:5: the id is the path of the file: x/r`},
		{"word", "harm: slow", "harm: slower", `rules/x/r.yaml:3:7: harm is one of danger, outage, slow, note, not "slower"; did you mean slow?`},
		{"kind", "db in server", "db in servers", "rules/x/r.yaml:6:5: there is no kind servers; did you mean server?\nrules/x/r.yaml:7:5: db is not bound above"},
		{"link", "v in db.data", "v in db.date", `rules/x/r.yaml:7:5: server has no link date; did you mean data?`},
		{"binding", "v in db.data", "v of db.data", `rules/x/r.yaml:7:5: "v of db.data" is not a binding: write "db in mysql" or "ds in db.data.dataset"`},
		{"variable", "v in db.data", "v in bd.data", `rules/x/r.yaml:7:5: bd is not bound above; did you mean db?`},
		{"reserved", "v in db.data", "if in db.data", `rules/x/r.yaml:7:5: if cannot name a variable: CEL keeps the word for itself`},
		{"fact", "when: v.record >", "when: v.recordd >", `rules/x/r.yaml:8:9: v (volume) has no fact recordd; did you mean record?`},
		{"fact_in_folded_text", "rewrites {v.record /", "rewrites {v.recor /", `rules/x/r.yaml:11:15: v (volume) has no fact recor; did you mean record?`},
		{"fact_in_quoted_text", `title: "{show(db.page)}`, `title: "\"é\" {show(db.pages)}`, `rules/x/r.yaml:2:24: db (server) has no fact pages; did you mean page?`},
		{"link_as_fact", "when: v.record >", "when: db.data.record >", `rules/x/r.yaml:8:10: db.data is a link, not a fact: bind it first, as in "- x in db.data" (a volume)`},
		{"types", "when: v.record >", `when: v.record == "x" && v.record >`, `rules/x/r.yaml:8:16: == does not take (int, string)`},
		{"alike", "2 * db.page", "2.5 * db.page", `rules/x/r.yaml:8:22: * does not take (double, int): make them alike with double(x) or int(x)`},
		{"no_condition", "when: v.record > 2 * db.page", "when: v.record", `rules/x/r.yaml:8:7: when yields int: want true or false`},
		{"syntax", "when: v.record >", "when: v.record > >", `rules/x/r.yaml:8:18: extraneous input '>' expecting`},
		{"brace", "{v.record / db.page}", "{v.record / db.page", `rules/x/r.yaml:11:12: { without a }: write {{ for a brace`},
		{"knob", "v#record", "v#recrod", `rules/x/r.yaml:15:11: volume has no knob recrod; did you mean record?`},
		{"observed_only", "v#record", "v#size", `rules/x/r.yaml:15:11: size of volume can only be observed (facts/volume.yaml:7): a remedy needs a knob`},
		{"text_without_quotes", "knob: v#record\n    to: db.page", "knob: db#method\n    to: direct", `rules/x/r.yaml:16:9: there is no direct here (a text is written "direct", with its quotes; bound: db, host, v)`},
		{"value_not_allowed", "knob: v#record\n    to: db.page", "knob: db#method\n    to: '\"directly\"'", `rules/x/r.yaml:16:9: method takes direct, buffered, not "directly"`},
		{"value_too_small", "knob: v#record\n    to: db.page", "knob: db#pool\n    to: 5", `rules/x/r.yaml:16:9: pool takes 1K at least, not 5 bytes`},
		{"value_type", "to: db.page", "to: double(db.page)", `rules/x/r.yaml:16:9: record takes bytes, this yields double: round it with round(x), int(x) or roundUp(x, unit)`},
		{"folklore", "basis: documented", "basis: folklore", `rules/x/r.yaml:1:1: folklore is harm: note, never slow`},
		{"sources", "sources: [https://example.org]", "sources: []", `rules/x/r.yaml:19:10: a rule that is documented needs sources`},
		{"explain", "explain: |\n  Why.\n", "", `rules/x/r.yaml:1:1: a rule needs the key "explain"`},
		{"no_unknown_example", "want: unknown, given: {db: {page: 16K}}", "want: quiet, given: {db: {page: 16K}, v: {record: 1K}}", `rules/x/r.yaml:1:1: no example wants unknown: there must be one at least of fires, quiet and unknown`},
		{"example_fails", "v: {record: 16K}", "v: {record: 64K}", `rules/x/r.yaml:22:5: example two: want quiet, got fires, with v.record = 64K, db.page = 16K`},
		{"example_fact", "v: {record: 16K}", "v: {recrod: 16K}", `rules/x/r.yaml:22:59: v (volume) has no fact recrod; did you mean record?`},
		{"example_value", "v: {record: 16K}", "v: {record: on}", `rules/x/r.yaml:22:67: record: "on" is not a value of type bytes: want a whole number, with a unit if needed, such as 16K or 5s`},
		{"example_variable", "v: {record: 16K}", "w: {record: 16K}", `rules/x/r.yaml:22:55: w is not bound`},
		{"distinct", "when: v.record", "distinct: [db, v]\nwhen: v.record", `rules/x/r.yaml:8:11: distinct names two or more variables of one kind`},
		{"anchor", "harm: slow", "harm: &x slow", `rules/x/r.yaml:3:7: anchors and aliases are not used here: write it out`},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := strings.Replace(sound, c.old, c.new, 1)
			if text == sound {
				t.Fatalf("%q is not in the sound rule", c.old)
			}
			got := mistakes(t, text)
			if !strings.HasPrefix(got, c.want) {
				t.Errorf("want this first\n%s\n%s", c.want, cmp.Diff(c.want, got))
			}
		})
	}
}

func TestAllMistakesAreReported(t *testing.T) {
	text := strings.NewReplacer("harm: slow", "harm: bad", "2 * db.page", "2 * db.pag", "to: db.page", "to: db.pag", "want: quiet", "want: silent").Replace(sound)
	if got := mistakes(t, text); strings.Count(got, "\n") != 4 {
		t.Errorf("want five mistakes (the missing outcome among them), got\n%s", got)
	}
}
