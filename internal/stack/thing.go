package stack

import (
	"maps"
	"slices"
)

// Thing is one part of a host: a server, a filesystem, a pool, a disk, the
// kernel. Its kind says which facts and links it can have; the catalogue
// (knowledge/facts, knowledge/knobs) lists them with type and unit.
type Thing struct {
	Ref   Ref              `json:"ref"`
	Facts map[string]Fact  `json:"facts,omitempty"`
	Links map[string][]Ref `json:"links,omitempty"` // not in the map: unknown; empty: known to have none
}

// Fact is one thing known, and where it was read.
type Fact struct {
	Value  Value   `json:"value"`            // null: known not to exist here
	Source string  `json:"source"`           // the file, command or query that said so
	Origin *Origin `json:"origin,omitempty"` // settings only: who set the value in force
	Next   *Next   `json:"next,omitempty"`   // settings only: what the next start will bring, when that differs
}

// Origin says who set a setting.
type Origin struct {
	From string `json:"from"`           // one of the From constants
	File string `json:"file,omitempty"` // for FromFile and FromPersisted
	Line int    `json:"line,omitempty"` // 1-based; 0 when not known
	Of   string `json:"of,omitempty"`   // for FromInherited: the dataset; otherwise a detail, such as a role name
}

// Where a setting can come from.
const (
	FromDefault   = "default"      // built in
	FromComputed  = "computed"     // derived by the server at start
	FromFile      = "file"         // an option or configuration file
	FromCommand   = "command line" // an argument or environment variable
	FromPersisted = "persisted"    // mysqld-auto.cnf, postgresql.auto.conf
	FromRuntime   = "runtime"      // set while running; the next start forgets it
	FromLocal     = "local"        // a ZFS property set on this dataset
	FromInherited = "inherited"    // a ZFS property of a parent
	FromReceived  = "received"     // a ZFS property of a received stream
)

// Next is the value a setting will have after the next start, and why.
type Next struct {
	Value  Value  `json:"value"`
	Origin Origin `json:"origin"`
}

// NewThing makes an empty thing.
func NewThing(kind, name string) *Thing {
	return &Thing{Ref: Ref{kind, name}, Facts: map[string]Fact{}, Links: map[string][]Ref{}}
}

// fill makes the maps that JSON leaves out where they are empty.
func (t *Thing) fill() {
	if t.Facts == nil {
		t.Facts = map[string]Fact{}
	}
	if t.Links == nil {
		t.Links = map[string][]Ref{}
	}
}

// Set records an observed fact.
func (t *Thing) Set(name string, v Value, source string) {
	t.Facts[name] = Fact{Value: v, Source: source}
}

// SetAbsent records that the fact is known not to exist here, for example a
// variable this server version does not have.
func (t *Thing) SetAbsent(name, source string) { t.Facts[name] = Fact{Source: source} }

// Absent records several facts that do not exist here.
func (t *Thing) Absent(source string, names ...string) {
	for _, name := range names {
		t.SetAbsent(name, source)
	}
}

// Setting records a setting with its origin.
func (t *Thing) Setting(name string, v Value, source string, o Origin) {
	t.Facts[name] = Fact{Value: v, Source: source, Origin: &o}
}

// SettingUntil records a setting of which the next start is known: who sets it
// then has set it now if the value is the same, and otherwise it was set while
// running.
func (t *Thing) SettingUntil(name string, v Value, source string, next Next) {
	if next.Value.Equal(v) {
		t.Setting(name, v, source, next.Origin)
		return
	}
	t.Facts[name] = Fact{Value: v, Source: source, Origin: &Origin{From: FromRuntime}, Next: &next}
}

// Link records that t stands in relation name to the given things. Called
// without things it records that there are none.
func (t *Thing) Link(name string, to ...Ref) {
	have := t.Links[name]
	if have == nil {
		have = []Ref{}
	}
	for _, r := range to {
		if !slices.Contains(have, r) {
			have = append(have, r)
		}
	}
	t.Links[name] = have
}

// Get gives a fact's value; ok is false when it is unknown or absent.
func (t *Thing) Get(name string) (v Value, ok bool) {
	f, known := t.Facts[name]
	return f.Value, known && !f.Value.IsAbsent()
}

// Int gives a known whole number.
func (t *Thing) Int(name string) (int64, bool) { v, _ := t.Get(name); return v.Int() }

// Number gives a known number of either kind.
func (t *Thing) Number(name string) (float64, bool) { v, _ := t.Get(name); return v.Number() }

// Bool gives a known truth value.
func (t *Thing) Bool(name string) (b, ok bool) { v, _ := t.Get(name); return v.Bool() }

// Text gives a known string, or "" when it is not known.
func (t *Thing) Text(name string) string { v, _ := t.Get(name); s, _ := v.Text(); return s }

// List gives a list; nil when it is not known.
func (t *Thing) List(name string) []string { v, _ := t.Get(name); l, _ := v.List(); return l }

// merge adds what o knows and t does not; what t already knows stays.
func (t *Thing) merge(o *Thing) {
	for name, f := range o.Facts {
		if _, have := t.Facts[name]; !have {
			t.Facts[name] = f
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Links)) {
		t.Link(name, o.Links[name]...)
	}
}

func (t *Thing) clone() *Thing {
	c := &Thing{Ref: t.Ref, Facts: maps.Clone(t.Facts), Links: make(map[string][]Ref, len(t.Links))}
	for name, refs := range t.Links {
		c.Links[name] = append([]Ref{}, refs...)
	}
	return c
}
