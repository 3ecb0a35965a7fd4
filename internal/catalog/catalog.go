package catalog

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"plumb/internal/stack"
)

// Catalog lists the kinds of things.
type Catalog struct {
	Kinds map[string]*Kind
}

// Kind describes one kind of thing.
type Kind struct {
	Name  string
	Title string
	Open  bool              // things of it may carry raw settings that are not listed
	Known map[string]string // by flavour ("" for all): the versions of which Plumb knows what holds; nil: it has no versions
	Links map[string]Link
	Facts map[string]*Fact // knobs included
	Since string           // the fact that tells for how many seconds its counters have counted; with "host." before it, one of the host
}

// Link is a relation to things of another kind.
type Link struct {
	To  string // kind
	Doc string
}

// Fact describes one fact; Knob is nil when it can only be observed.
type Fact struct {
	Kind  string
	Name  string
	Shown string // as people write it, when that differs from Name
	Type  Type
	Doc   string
	From  string // the file, command or query it is read from
	Load  string // what it tells of the load, such as "WAL": it begins anew with the server or moves with its work
	Idle  bool   // it is absent while there is no load
	// OverTime is what it does as time goes by; Since, of a counter, is as of its
	// kind where it is another.
	OverTime stack.OverTime
	Since    string
	Every    time.Duration // how often it is sampled; 0 where it is not, or where the source says
	Knob     *Knob
	File     string // where it is declared
	Line     int
}

// Type is the type of a fact and the unit of its number.
type Type string

// The types. Bytes to Seconds are whole numbers; Percent, Ratio and Rate are floats.
const (
	Bool    Type = "bool"
	Int     Type = "int"
	Float   Type = "float"
	Text    Type = "text"
	List    Type = "list"
	Bytes   Type = "bytes"
	Millis  Type = "ms"
	Micros  Type = "us"
	Seconds Type = "s"
	Percent Type = "percent" // 0 to 100
	Ratio   Type = "ratio"   // 0 to 1
	Rate    Type = "rate"    // per second
)

// Knob is what is known of a setting beyond its type.
type Knob struct {
	Versions   map[string]string // flavour ("" for all) to version range; nil: everywhere
	Default    map[string]string // flavour ("" for all) to value as text
	Before     map[string]string // the default before a version, where it was another: "2.2" to value as text
	Values     []string          // allowed texts, when it is an enumeration
	Min, Max   *float64          // in the fact's unit
	Effect     Effect
	Effects    map[Effect]map[string]string // where it is another: by effect and flavour, the versions
	Durability map[string]string            // value as text to class; a value not listed is Safe
	Removed    string                       // what came instead, for settings that went away
	Ignored    map[string]string            // by flavour, the versions without it that warn of a line with it, and start all the same
	Sources    []string
}

// Effect says when a changed setting takes effect.
type Effect string

// The effects, from easiest to hardest.
const (
	Now       Effect = "now"
	Reload    Effect = "reload"
	NewWrites Effect = "new-writes" // only what is written from now on
	Remount   Effect = "remount"
	Restart   Effect = "restart"
	Recreate  Effect = "recreate" // fixed when the thing was made
)

// Durability classes. Conditional is a prefix: the condition follows.
const (
	Safe        = "safe"
	MayLose     = "may lose the last transactions"
	MayCorrupt  = "may corrupt"
	Conditional = "conditional: "
)

// Fact finds the fact of a kind; nil when there is none of that name.
func (c *Catalog) Fact(kind, name string) *Fact {
	k := c.Kinds[kind]
	if k == nil {
		return nil
	}
	return k.Facts[name]
}

// Knobs gives the knobs of a kind by name.
func (c *Catalog) Knobs(kind string) map[string]*Fact {
	out := map[string]*Fact{}
	if k := c.Kinds[kind]; k != nil {
		maps.Copy(out, k.Facts)
		maps.DeleteFunc(out, func(_ string, f *Fact) bool { return f.Knob == nil })
	}
	return out
}

// OverTime is what a fact does as time goes by. A raw setting that is not
// listed stays until somebody changes it.
func (c *Catalog) OverTime(kind, name string) stack.OverTime {
	if f := c.Fact(kind, name); f != nil {
		return f.OverTime
	}
	return stack.State
}

// Since gives the fact that tells for how many seconds a counter has counted.
func (c *Catalog) Since(kind, name string) (of string, ofHost bool) {
	f := c.Fact(kind, name)
	if f == nil {
		return "", false
	}
	since := f.Since
	if since == "" {
		since = c.Kinds[kind].Since
	}
	return strings.CutPrefix(since, "host.")
}

// Source is a fact and what it is called where it is read.
type Source struct {
	Name string
	Fact *Fact
}

// ReadFrom lists what is read of a kind from one place, sorted by fact: of place
// "arcstats " a fact from "arcstats c_max" is c_max.
func (c *Catalog) ReadFrom(kind, place string) []Source {
	var out []Source
	k := c.Kinds[kind]
	if k == nil {
		return nil
	}
	for _, f := range k.Facts {
		if name, ok := strings.CutPrefix(f.From, place); ok {
			out = append(out, Source{name, f})
		}
	}
	slices.SortFunc(out, func(a, b Source) int { return cmp.Compare(a.Fact.Name, b.Fact.Name) })
	return out
}
