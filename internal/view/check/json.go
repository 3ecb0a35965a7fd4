package check

import (
	"time"

	"plumb/internal/advise"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// CheckJSON is the document of plumb check --json: one host.
type CheckJSON struct {
	Plumb      int              `json:"plumb"`    // JSONVersion
	Kind       string           `json:"kind"`     // "check"
	Version    string           `json:"version"`  // of the program
	TakenAt    time.Time        `json:"taken_at"` // when the host was read
	Root       bool             `json:"root"`     // whether it was read with root's rights
	Tape       string           `json:"tape,omitempty"`
	Host       HostJSON         `json:"host"`
	Servers    []ServerJSON     `json:"servers"`
	Summary    SummaryJSON      `json:"summary"`
	Findings   []FindingJSON    `json:"findings"`  // worst first
	Conflicts  []ConflictJSON   `json:"conflicts"` // settings for which rules wanted different values
	Unknown    []UnknownJSON    `json:"unknown"`   // what could not be judged
	Gaps       []stack.Gap      `json:"gaps"`      // what could not be seen
	Plan       advise.Plan      `json:"plan"`
	CheckAgain []CheckAgainJSON `json:"check_again,omitempty"` // what may fire under load once the plan is followed: then check again
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
	RulesJudged  int               `json:"rules_judged"`  // rules that gave an answer about something on this host
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

// CheckAgainJSON says when to ask again about a server: rules that may advise
// more, by the load it carries once the plan is followed.
type CheckAgainJSON struct {
	Server  stack.Ref `json:"server"`
	Idle    bool      `json:"idle"`    // next to nothing was asked of it
	Young   bool      `json:"young"`   // it started less than a minute ago
	Restart bool      `json:"restart"` // the plan restarts it
	About   []string  `json:"about"`   // what is judged, such as WAL
	Rules   []string  `json:"rules"`
}
