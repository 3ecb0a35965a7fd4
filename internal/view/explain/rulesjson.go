package explain

import "plumb/internal/rule"

// RulesJSON is the document of plumb rules --json.
type RulesJSON struct {
	Plumb   int        `json:"plumb"` // JSONVersion
	Kind    string     `json:"kind"`  // "rules"
	Version string     `json:"version"`
	Rules   []RuleJSON `json:"rules"` // sorted by id
}

// RuleJSON is one rule, as written.
type RuleJSON struct {
	ID       string            `json:"id"`
	Harm     rule.Harm         `json:"harm"`
	Gain     string            `json:"gain"`
	Basis    string            `json:"basis"`
	Title    string            `json:"title"` // with {expressions}
	When     string            `json:"when"`  // CEL
	Explain  string            `json:"explain"`
	Versions string            `json:"versions"`
	Layers   []string          `json:"layers"`
	Seeds    []string          `json:"seeds"`
	Sources  []string          `json:"sources"`
	Quote    *QuoteJSON        `json:"quote,omitempty"` // the sentence that decides
	Range    map[string]string `json:"range"`           // versions by product, such as 8.0.30- or any
	Met      []MeetingJSON     `json:"met"`             // answers on real hosts of these versions; empty: unmet
	Needs    string            `json:"needs,omitempty"` // what an unmet rule would have to meet
}

// QuoteJSON is a sentence of a source, word for word.
type QuoteJSON struct {
	Says string `json:"says"`
	From string `json:"from"` // one of the rule's sources
}

// MeetingJSON is an answer that a rule gave on a real host.
type MeetingJSON struct {
	On   []string `json:"on"`            // products with their versions, as in range
	Says string   `json:"says"`          // fires or quiet
	Host string   `json:"host"`          // a tape of fixtures, or the test that read it
	Day  string   `json:"day,omitempty"` // on which it was read live; not there for a tape
}
