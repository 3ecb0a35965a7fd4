package rule

import "plumb/internal/stack"

// Outcome is what a rule says of one combination of things.
type Outcome string

// The outcomes.
const (
	Fires   Outcome = "fires"
	Quiet   Outcome = "quiet"
	Unknown Outcome = "unknown" // a fact is missing that would decide
)

// Evaluation is what one rule says of one combination of things.
type Evaluation struct {
	Rule    *Rule
	Outcome Outcome
	Things  []stack.Ref // what was bound, in the rule's order; the host left out; shorter when a link is unknown
	Title   string      // fires only
	Say     string      // fires only
	// Evidence has the facts that decided, in the order of the condition;
	// fires only.
	Evidence []Evidence
	Missing  []Missing // unknown only: what would decide
	Remedies []Remedy  // fires only
	Doubts   []Doubt   // unknown only, where a link is missing: settings that are not safe everywhere
	// Err is set when the condition could not be computed (a division by
	// zero, a text that is no version); the outcome is then Unknown.
	Err error
}

// Evidence is a fact that took part in a verdict.
type Evidence struct {
	Of   stack.Ref
	Name string
	Fact stack.Fact
}

// Missing is a fact or link that nobody could read.
type Missing struct {
	Of   stack.Ref
	Name string // of the fact or link
	Why  string // from the gap; "" when no probe said why
	Hint string // what a person can do; "" when nothing is known to help
}

// Remedy is one thing to do: a value for a knob, or a text.
type Remedy struct {
	Knob stack.Knob  // zero for a text
	To   stack.Value // the value to set
	Do   string      // text for people; set only when Knob is zero
	Note string
}
