package series

import (
	"time"

	"plumb/internal/stack"
)

// ID names one series: a fact of a thing, read again and again.
type ID struct {
	Of   stack.Ref `json:"of"`
	Name string    `json:"name"`
}

// Reading is one value of a series, as it was read: a counter is not yet a rate.
type Reading struct {
	Of    stack.Ref `json:"of"`
	Name  string    `json:"name"`
	Value float64   `json:"value"` // in the unit of the fact; 1 and 0 for a truth value
}

// Gap says what a source could not read, and why.
type Gap struct {
	Of   stack.Ref `json:"of,omitzero"`    // zero: all that the source reads
	Name string    `json:"name,omitempty"` // "": all of that thing
	Why  string    `json:"why"`
	Hint string    `json:"hint,omitempty"`
}

// Batch is what one source gave at one moment.
type Batch struct {
	Source     string        `json:"source"` // its name, such as "mysql:3306 status"
	Every      time.Duration `json:"every"`  // how often it is asked
	At         time.Time     `json:"at"`     // UTC: when its answer was there
	Took       time.Duration `json:"took"`   // how long it was waited for
	Readings   []Reading     `json:"readings,omitempty"`
	Gaps       []Gap         `json:"gaps,omitempty"`
	Sessions   []Session     `json:"sessions,omitempty"`   // those that do or hold something, the longest first, at most MostSessions
	Statements []Statement   `json:"statements,omitempty"` // counted since the server or its counters started, at most MostStatements
}

// How much a batch holds at most, of what a server can have without end.
const (
	MostSessions   = 64
	MostStatements = 2000
)

// Set adds a reading.
func (b *Batch) Set(of stack.Ref, name string, value float64) {
	b.Readings = append(b.Readings, Reading{of, name, value})
}

// Gap adds a gap about values of one thing; no names: all of it.
func (b *Batch) Gap(of stack.Ref, why, hint string, names ...string) {
	if len(names) == 0 {
		names = []string{""}
	}
	for _, name := range names {
		b.Gaps = append(b.Gaps, Gap{of, name, why, hint})
	}
}
