package rule_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// smallWorld is a catalogue of its own, so that these tests do not depend on
// the rules people write.
func smallWorld() fstest.MapFS {
	return fstest.MapFS{
		"facts/host.yaml": {Data: []byte(`
kind: host
title: the machine
facts:
  memory: {type: bytes, over_time: gauge, doc: memory}
`)},
		"facts/server.yaml": {Data: []byte(`
kind: server
title: database server
links:
  data: {to: volume, doc: where its data lies}
  redo: {to: volume, doc: where its redo log lies}
facts:
  version: {type: text, doc: version}
  connections: {type: int, over_time: gauge, doc: connections}
  hit_rate: {type: ratio, over_time: gauge, doc: hits}
  tables: {type: list, doc: tables}
`)},
		"facts/volume.yaml": {Data: []byte(`
kind: volume
title: volume
links:
  disk: {to: disk, doc: disks}
facts:
  size: {type: bytes, over_time: gauge, doc: size}
  fstype: {type: text, doc: type}
`)},
		"facts/disk.yaml": {Data: []byte(`
kind: disk
title: disk
facts:
  spare: {type: percent, over_time: gauge, doc: spare}
`)},
		"knobs/server.yaml": {Data: []byte(`
kind: server
knobs:
  pool: {type: bytes, effect: now, min: 1024, doc: pool}
  page: {type: bytes, effect: recreate, doc: page}
  sync: {type: bool, effect: now, doc: sync, durability: {OFF: may lose the last transactions}}
  method: {type: text, effect: restart, values: [direct, buffered], doc: method}
  pct: {type: percent, effect: now, doc: percent}
`)},
		"knobs/volume.yaml": {Data: []byte(`
kind: volume
knobs:
  record: {type: bytes, effect: new-writes, doc: record}
`)},
	}
}

func smallCatalog(t testing.TB) *catalog.Catalog {
	t.Helper()
	cat, err := catalog.Load(smallWorld())
	if err != nil {
		t.Fatal(err)
	}
	return cat
}

// ruleText makes a rule file around bindings, a condition and more lines.
func ruleText(bindings, when, more string) string {
	return fmt.Sprintf(`id: x/r
title: title
harm: slow
gain: high
for: [%s]
when: %s
say: say
explain: why
basis: documented
versions: all
sources: [https://example.org]
%s`, bindings, when, more)
}

// judge judges a stack by one rule whose examples are left out.
func judge(t testing.TB, text string, s *stack.Stack) []rule.Evaluation {
	t.Helper()
	return loadOne(t, text).Judge(s)
}

func loadOne(t testing.TB, text string) *rule.Base {
	t.Helper()
	if !strings.Contains(text, "examples:") {
		text += "\nexamples: []\n"
	}
	base, err := rule.Load(fstest.MapFS{"rules/x/r.yaml": {Data: []byte(text)}}, smallCatalog(t))
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// thing adds a thing with facts to a stack; a nil value is absent.
func thing(s *stack.Stack, kind, name string, facts map[string]any) *stack.Thing {
	t := stack.NewThing(kind, name)
	for f, v := range facts {
		got, err := stack.ValueOf(v)
		if err != nil {
			panic(err)
		}
		t.Set(f, got, "test")
	}
	s.Add("test", stack.Observation{Things: []*stack.Thing{t}})
	return s.Find(t.Ref)
}
