// Package advise turns verdicts into advice for a person: findings, worst
// first; one value for each knob, with the reason when rules disagree; a plan
// of ordered steps; and what could not be judged, by what is missing.
//
// Everything here is a pure function of the verdicts, the stack and the
// catalogue. The order in which verdicts come makes no difference.
package advise

import (
	"plumb/internal/catalog"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Advice is what follows from the verdicts on one host.
type Advice struct {
	Findings  []Finding  // worst first
	Conflicts []Conflict // where rules wanted different values for one knob
	Unknown   []Unknown  // what could not be judged, grouped by reason
	Plan      Plan
	Foretold  []Foretold // when to ask again; see Foretell
}

// Finding is one rule that fired, on one thing or on many.
type Finding struct {
	Number int // 1 is the worst
	Rule   *rule.Rule
	Cases  []Case // at least one, sorted
}

// Case is one place where a rule fired.
type Case struct {
	Things   []stack.Ref     // what the rule bound, in the rule's order; the host left out
	Title    string          // one line
	Say      string          // a few sentences
	Evidence []rule.Evidence // the facts that decided
	Remedies []Remedy
	Also     []Also // other rules that ask for the same change here
	// Missing has what would tell whether it is so here, such as mysql:3306#data. It is empty where a rule fired.
	Missing []string
}

// Remedy is one thing to do about a case: a step on a knob, or a text.
type Remedy struct {
	Step     Step   // zero when it is a text
	Do       string // text, for what is not a knob
	Withheld string // why the step is not in the plan; "" when it is
}

// IsStep reports whether the remedy sets a knob.
func (r Remedy) IsStep() bool { return r.Step.Knob != stack.Knob{} }

// Conflict is a knob for which rules wanted different values, and what was
// decided.
type Conflict struct {
	Knob    stack.Knob
	Kept    stack.Value
	For     []string // rules that want the kept value
	Lost    stack.Value
	Against []string // rules that wanted the lost value
	Reason  string
}

// Unknown is one reason for which rules could not be judged.
type Unknown struct {
	Why   string
	Hint  string   // what a person can do; "" when nothing is known to help
	Needs []string // what is missing, such as mysql:3306#sync_binlog; sorted
	Rules []string // rules that wait for it; sorted
}

// Options are what a person may ask for.
type Options struct {
	AllowUnsafe bool // propose less durable values too
}

// From makes the advice.
func From(verdicts []rule.Evaluation, s *stack.Stack, cat *catalog.Catalog, o Options) Advice {
	a := Advice{Findings: doubts(verdicts, group(verdicts, s, cat), cat), Unknown: unknowns(verdicts)}
	rank(a.Findings)
	a.Findings = mergeSameChange(a.Findings)
	number(a.Findings)
	if !o.AllowUnsafe {
		withholdUnsafe(a.Findings)
	}
	a.Conflicts = resolveConflicts(a.Findings)
	dropInForce(a.Findings)
	a.Plan = plan(a.Findings, s)
	return a
}
