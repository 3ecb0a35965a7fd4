package rule

import (
	"cmp"
	"maps"
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// Harm is what can come of what a rule finds.
type Harm string

// The harms, worst first.
const (
	Danger Harm = "danger" // data can be lost or damaged
	Outage Harm = "outage" // the server can stop, or not start
	Slow   Harm = "slow"
	Note   Harm = "note"
)

// Gain is how much a finding matters among its like: high, medium or low.
type Gain string

// The gains.
const (
	High   Gain = "high"
	Medium Gain = "medium"
	Low    Gain = "low"
)

// Basis is what a rule's claim rests on.
type Basis string

// The bases. A rule that rests on folklore is never more than a note.
const (
	Measured   Basis = "measured"
	Documented Basis = "documented"
	Folklore   Basis = "folklore"
)

// Rule is one rule, ready to judge. What is exported is not changed after loading.
type Rule struct {
	ID       string // its path under rules/, without .yaml
	File     string
	Title    string // as written, with {expressions}
	Harm     Harm
	Gain     Gain
	For      []Binding
	Distinct []string
	When     string // CEL
	Say      string // as written, with {expressions}
	Explain  string
	Basis    Basis
	Versions string  // in words
	Range    []Claim // the same for programs, in the order of the file
	Seeds    []string
	Sources  []string
	Quote    Quote // every severe rule has one
	Examples []Example

	cat     *catalog.Catalog
	written []WrittenRemedy

	// ready and speak compile what follows them when it is first needed; nil
	// when that is done already.
	ready    func() error
	when     *expression
	speak    func() error
	title    *template
	say      *template
	remedies []*remedy
}

// Quote is the sentence of a source that decides when a rule holds, in the
// source's own words: an example repeats what its author believes, and cannot
// find that wrong.
type Quote struct {
	Says string
	From string // one of the rule's sources
}

// Severe reports whether somebody may lose data or a server to what the rule
// finds, or by following it where it does not hold.
func (r *Rule) Severe() bool { return r.Harm == Danger || r.Harm == Outage }

// prepared runs one of a rule's two preparations.
func prepared(prepare func() error) error {
	if prepare == nil {
		return nil
	}
	return prepare()
}

// Binding binds a variable to things: to all of a kind, or to those a bound
// thing's links lead to.
type Binding struct {
	Var   string
	Kind  string   // kind of the things
	From  string   // variable the path starts at; "" for every thing of the kind
	Links []string // links to follow from there
}

// Example is a case the rule must judge as wanted.
type Example struct {
	Name string
	Want Outcome
	line int // in the rule's file
	col  int
	things
}

// Kinds lists the kinds of things the rule speaks of, the host too when it
// uses it.
func (r *Rule) Kinds() []string {
	var out []string
	for _, b := range r.For {
		out = append(out, b.Kind)
	}
	if len(r.For) == 0 || prepared(r.ready) == nil && r.when != nil && r.when.usesVar("host") {
		out = append(out, "host")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Layers lists the layers of a host that the rule spans.
func (r *Rule) Layers() []string {
	var out []string
	for _, kind := range r.Kinds() {
		out = append(out, layerOf(kind))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func layerOf(kind string) string {
	switch kind {
	case "filesystem", "dataset", "pool", "zfs":
		return "filesystem"
	case "block":
		return "block"
	case "host", "process", "cgroup", "memory":
		return "kernel"
	}
	return "database"
}

// Things lists what an example is about, sorted.
func (x Example) Things() []*stack.Thing {
	return slices.SortedFunc(maps.Values(x.things), func(a, b *stack.Thing) int { return cmp.Compare(a.Ref.Name, b.Ref.Name) })
}

// Try judges an example of the rule.
func (r *Rule) Try(x Example) Evaluation { return r.judge(combination{things: x.things}) }
