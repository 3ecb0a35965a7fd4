package catalog

import (
	"strings"
	"testing"
	"testing/fstest"

	"plumb/internal/stack"
)

const smallFacts = `kind: server
title: database server
links:
  data: {to: volume, doc: where it lies}
facts:
  version: {type: text, doc: version}
  pages: {type: int, over_time: counter, counts_since: up, doc: pages, shown: Pages}
  up: {type: s, over_time: gauge, doc: age}
`

const smallKnobs = `kind: server
knobs:
  sync: {type: bool, default: ON, effect: now, durability: {OFF: may corrupt}, doc: sync}
  pool:
    type: bytes
    default: {mysql: "134217728", mariadb: 128M}
    versions: {mysql: "8.0-"}
    effect: restart
    min: 1024
    doc: pool
`

func small(facts, knobs string) fstest.MapFS {
	return fstest.MapFS{
		"facts/server.yaml": {Data: []byte(facts)},
		"facts/volume.yaml": {Data: []byte("kind: volume\ntitle: volume\nopen: true\nfacts: {size: {type: bytes, over_time: state, doc: size}}\n")},
		"knobs/a.yaml":      {Data: []byte(knobs)},
		"knobs/b.yaml":      {Data: []byte("kind: server\nknobs: {method: {type: text, effect: restart, values: [direct], doc: how}}\n")},
	}
}

func TestLoad(t *testing.T) {
	cat, err := Load(small(smallFacts, smallKnobs))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(cat.Knobs("server")); n != 3 {
		t.Errorf("got %d knobs, want 3 from two files", n)
	}
	pool := cat.Fact("server", "pool")
	if pool.Type != Bytes || pool.Knob.Default["mariadb"] != "128M" || pool.Knob.Effect != Restart || *pool.Knob.Min != 1024 || pool.File != "knobs/a.yaml" || pool.Line != 4 {
		t.Errorf("got %+v %+v", pool, pool.Knob)
	}
	if d := cat.Fact("server", "sync").Knob.Default[""]; d != "ON" {
		t.Errorf("ON became %q", d)
	}
	if of, host := cat.Since("server", "pages"); of != "up" || host || cat.OverTime("server", "pages") != stack.Counter || cat.OverTime("server", "sync") != stack.State {
		t.Error("what facts do over time is lost")
	}
	if cat.Fact("server", "pages").Shown != "Pages" || cat.Kinds["server"].Links["data"].To != "volume" || !cat.Kinds["volume"].Open {
		t.Error("shown, link or open is lost")
	}
}

func TestLoadNamesPlaceAndWhatWasMeant(t *testing.T) {
	for _, c := range []struct{ name, old, new, want string }{
		{"key", "doc: version}", "dok: version}", "facts/server.yaml:6:12: a fact needs the key \"doc\"\nfacts/server.yaml:6:25: a fact has no key \"dok\"; did you mean doc?"},
		{"over time missing", "over_time: gauge, ", "", `facts/server.yaml:8:7: up is a number and needs the key "over_time": counter, gauge, state or average`},
		{"over time", "over_time: gauge", "over_time: gage", `facts/server.yaml:8:28: over_time is one of counter, gauge, state, average, not "gage"; did you mean gauge?`},
		{"counts since", "counts_since: up,", "counts_since: pages,", `facts/server.yaml:7:56: counts_since: server has no fact pages of type s; did you mean pages?`},
		{"type", "type: text", "type: txt", `facts/server.yaml:6:19: type is one of bool, int, float, text, list, bytes, ms, us, s, percent, ratio, rate, not "txt"; did you mean text?`},
		{"link", "to: volume", "to: volumes", `facts/server.yaml:4:9: there is no kind "volumes"; did you mean volume?`},
		{"name", "version: {type", "Max.Version: {type", `facts/server.yaml:6:3: "Max.Version": a name is in lower case letters, digits and underscores; write it as max_version and add shown: "Max.Version"`},
		{"reserved", "version: {type", "in: {type", `facts/server.yaml:6:3: "in": a name is`},
		{"twice", "version: {type", "pool: {type", `knobs/a.yaml:4:3: server has pool already, in facts/server.yaml:6`},
		{"kind", "kind: server\nknobs", "kind: servr\nknobs", `knobs/a.yaml:1:1: kind servr is not described in facts/; did you mean server?`},
		{"effect", "effect: now", "effect: soon", `knobs/a.yaml:3:43: effect is one of now, reload, new-writes, remount, restart, recreate, not "soon"`},
		{"no_effect", "effect: now, ", "", `knobs/a.yaml:3:9: knob sync needs the key "effect"`},
		{"default", "default: ON", "default: maybe", `knobs/a.yaml:3:9: default of sync: "maybe" is not a value of type bool: want ON or OFF`},
		{"class", "may corrupt", "may break", `knobs/a.yaml:3:66: a durability class is safe, may lose the last transactions, may corrupt or "conditional: …", not "may break"`},
		{"versions", `mysql: "8.0-"`, `mysql: "8.0+"`, `knobs/a.yaml:5:5: versions of pool for "mysql": "8.0+" is not a range of versions: write "8.0.30-", "-5.7" or "10.5-11.3"`},
		{"ignored", "\"8.0-\"}", "\"8.0-\"}\n    ignored: {mariadb: \"-\"}", `knobs/a.yaml:5:5: ignored of pool for "mariadb": "-" is not a range of versions`},
		{"limit", "min: 1024", "min: low", `knobs/a.yaml:9:10: min is a number, not "low"`},
		{"no_yaml", "kind: server\ntitle", "kind: [server\ntitle", `facts/server.yaml:`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Load(small(strings.Replace(smallFacts, c.old, c.new, 1), strings.Replace(smallKnobs, c.old, c.new, 1)))
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("got\n%v\nwant\n%s", err, c.want)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	cat, err := Load(small(smallFacts, smallKnobs))
	if err != nil {
		t.Fatal(err)
	}
	s := &stack.Stack{}
	var obs stack.Observation
	a := obs.New("server", "a")
	a.Set("version", stack.Text("8.4.1"), "test")
	a.SetAbsent("sync", "test")
	a.Set("pool", stack.Float(5), "test")
	a.Set("verison", stack.Text("x"), "test")
	a.Link("dat")
	a.Link("data", stack.Ref{Kind: "disk", Name: "d"})
	obs.New("volume", "v").Set("anything", stack.Text("raw"), "test")
	obs.New("serve", "x")
	s.Add("test", obs)
	want := `serve:x: there is no kind "serve"; did you mean server?
server:a: pool is float64, declared as bytes in knobs/a.yaml:4
server:a: server has no fact verison; did you mean version?
server:a: server has no link dat; did you mean data?
server:a: link data leads to disk:d, declared as volume`
	if got := cat.Validate(s); got == nil || got.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add(smallFacts, smallKnobs)
	f.Add("kind: x", "kind: x\nknobs: {a: {}}")
	f.Fuzz(func(_ *testing.T, facts, knobs string) {
		cat, _ := Load(small(facts, knobs))
		for kind := range cat.Kinds {
			cat.Knobs(kind)
		}
	})
}
