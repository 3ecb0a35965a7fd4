package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode"

	"plumb/internal/advise"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// JSONVersion is the version of all documents of this file. A field may be
// added within a version; a field is never renamed, removed or given another
// meaning.
const JSONVersion = 1

// CheckJSON is the document of plumb check --json: one host.
type CheckJSON struct {
	Plumb     int            `json:"plumb"`    // JSONVersion
	Kind      string         `json:"kind"`     // "check"
	Version   string         `json:"version"`  // of the program
	TakenAt   time.Time      `json:"taken_at"` // when the host was read
	Root      bool           `json:"root"`     // whether it was read with root's rights
	Tape      string         `json:"tape,omitempty"`
	Host      HostJSON       `json:"host"`
	Servers   []ServerJSON   `json:"servers"`
	Summary   SummaryJSON    `json:"summary"`
	Findings  []FindingJSON  `json:"findings"`  // worst first
	Conflicts []ConflictJSON `json:"conflicts"` // settings for which rules wanted different values
	Unknown   []UnknownJSON  `json:"unknown"`   // what could not be judged
	Gaps      []stack.Gap    `json:"gaps"`      // what could not be seen
	Plan      advise.Plan    `json:"plan"`
	Foretold  []ForetoldJSON `json:"foretold,omitempty"` // what is judged anew under load once the plan is followed
}

// HostJSON names the machine.
type HostJSON struct {
	Name        string `json:"name"`
	OS          string `json:"os,omitempty"`
	Kernel      string `json:"kernel,omitempty"`
	CPUs        int64  `json:"cpus,omitempty"`
	MemoryBytes int64  `json:"memory_bytes,omitempty"`
}

// ServerJSON is one database server and where it keeps its files.
type ServerJSON struct {
	Ref     stack.Ref    `json:"ref"`
	Product string       `json:"product"`
	Version string       `json:"version,omitempty"`
	Roles   []stack.Role `json:"roles"`
}

// SummaryJSON counts.
type SummaryJSON struct {
	Findings     int               `json:"findings"`
	ByHarm       map[rule.Harm]int `json:"by_harm"`
	RulesJudged  int               `json:"rules_judged"`
	RulesUnknown int               `json:"rules_unknown"` // rules with at least one case that could not be judged
	Facts        int               `json:"facts"`
	Gaps         int               `json:"gaps"`
}

// FindingJSON is one rule that fired.
type FindingJSON struct {
	Number  int        `json:"number"` // 1 is the worst
	Rule    string     `json:"rule"`
	Harm    rule.Harm  `json:"harm"`
	Gain    string     `json:"gain"`
	Basis   string     `json:"basis"`
	Title   string     `json:"title"` // of the first case
	Cases   []CaseJSON `json:"cases"`
	Sources []string   `json:"sources,omitempty"`
}

// CaseJSON is one place where a rule fired.
type CaseJSON struct {
	Things   []stack.Ref    `json:"things"`
	Title    string         `json:"title"`
	Say      string         `json:"say"`
	Evidence []EvidenceJSON `json:"evidence"`
	Remedies []RemedyJSON   `json:"remedies"`
	Also     []AlsoJSON     `json:"also,omitempty"`    // other rules that ask for the same change here
	Missing  []string       `json:"missing,omitempty"` // what would tell whether it is so here; not there where a rule fired
}

// AlsoJSON is a further rule that asks for the same change.
type AlsoJSON struct {
	Rule  string `json:"rule"`
	Title string `json:"title"`
}

// EvidenceJSON is a fact that decided. Value is null when the fact is known
// not to exist here. Shown has the unit, for people.
type EvidenceJSON struct {
	Of     stack.Ref     `json:"of"`
	Fact   string        `json:"fact"`
	Value  stack.Value   `json:"value"`
	Shown  string        `json:"shown"`
	Source string        `json:"source"`
	Origin *stack.Origin `json:"origin,omitempty"`
	Next   *stack.Next   `json:"next,omitempty"`
}

// RemedyJSON is a step on a setting, or a text, with the reason when the
// step is not in the plan.
type RemedyJSON struct {
	Step     *advise.Step `json:"step,omitempty"`
	Do       string       `json:"do,omitempty"`
	Withheld string       `json:"withheld,omitempty"`
}

// ConflictJSON is a setting for which rules wanted different values.
type ConflictJSON struct {
	Knob    stack.Knob  `json:"knob"`
	Kept    stack.Value `json:"kept"`
	For     []string    `json:"for"`
	Lost    stack.Value `json:"lost"`
	Against []string    `json:"against"`
	Reason  string      `json:"reason"`
}

// UnknownJSON is one reason for which rules could not be judged.
type UnknownJSON struct {
	Why   string   `json:"why"`
	Hint  string   `json:"hint,omitempty"`
	Needs []string `json:"needs"`
	Rules []string `json:"rules"`
}

// ForetoldJSON says when to ask again about a server: rules that may advise
// more, by the load it carries once the plan is followed.
type ForetoldJSON struct {
	Server  stack.Ref `json:"server"`
	Idle    bool      `json:"idle"`    // next to nothing was asked of it
	Restart bool      `json:"restart"` // the plan restarts it
	About   []string  `json:"about"`   // what is judged, such as WAL
	Rules   []string  `json:"rules"`
}

// StackJSON is the document of plumb stack --json: every fact of one host.
type StackJSON struct {
	Plumb   int          `json:"plumb"` // JSONVersion
	Kind    string       `json:"kind"`  // "stack"
	Version string       `json:"version"`
	Stack   *stack.Stack `json:"stack"`
}

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

// JSON writes a document with two spaces of indentation and a final newline.
func JSON(doc any) ([]byte, error) {
	b, err := json.MarshalIndent(doc, "", "  ")
	return append(Inert(b), '\n'), err
}

// Inert writes the characters of a JSON document that could drive a terminal
// or reorder text, and that JSON allows as they are, in its own notation: the
// document stays the same.
func Inert(document []byte) []byte {
	drives := func(r rune) bool { return r >= 0x7f && r < 0xa0 || unicode.Is(unicode.Bidi_Control, r) }
	if bytes.IndexFunc(document, drives) < 0 {
		return document
	}
	var out bytes.Buffer
	for _, r := range string(document) {
		if drives(r) {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}
