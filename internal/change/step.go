package change

import (
	"slices"

	"plumb/internal/stack"
)

// Step is one wanted change, as a plan names it.
type Step struct {
	Knob    stack.Knob  `json:"knob"`
	From    stack.Value `json:"from"`              // in force when the plan was made; absent when it was not known
	To      stack.Value `json:"to"`                //
	Because string      `json:"because,omitempty"` // title of the finding that asks for it
	Why     []string    `json:"why,omitempty"`     // rules that ask for it
	Waits   string      `json:"waits,omitempty"`   // in a journal: what the value waited for, such as a restart
	// Data is set where all data of a server, Knob.Of, are moved or replaced. What did so before cannot be undone until this is.
	Data bool `json:"data,omitempty"`
}

// Prepared is a step whose acts are known and could be done.
type Prepared struct {
	Step
	Want           Want
	Now            stack.Value // in force when prepared; absent when it is not known
	DurabilityFrom string
	DurabilityTo   string
	Recipe         Recipe
}

// Refused is a step that cannot be done, and why.
type Refused struct {
	Step
	Reason string
	Hint   string
	// Whole is set when the plan as a whole must not be applied: it is stale,
	// for another host, names an unknown knob, or asks for a less durable value.
	Whole bool
}

// Draft is a plan made ready for a host. Nothing has been changed.
type Draft struct {
	Steps   []Prepared
	Refused []Refused
	Already []Step   // their value is in force, and lasts
	Missing []string // rights that are missing, in words, sorted
}

// Stops tells whether the draft must not be applied at all.
func (d Draft) Stops() bool {
	return len(d.Missing) > 0 || slices.ContainsFunc(d.Refused, func(r Refused) bool { return r.Whole })
}
