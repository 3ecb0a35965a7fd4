// Package experiment holds what a lab works on: the question a file asks, the
// arms it compares, the trials that answer it, and the record each trial
// leaves. It is plain data and pure functions; package lab carries it out.
package experiment

import (
	_ "embed"
	"slices"
	"time"
)

// Designs: how trials of the arms are spread over time.
const (
	Blocks = "blocks" // each block holds every arm once, in random order, each with fresh data
	ABBA   = "abba"   // one server is switched there and back between two arms that differ in dynamic settings alone
	// Interleaved: the servers of all arms of a block are up at once, and one is
	// driven at a time, in turns of seconds while the others stand still.
	Interleaved = "interleaved"
)

// Experiment is one file, checked, with its arms spelt out.
type Experiment struct {
	Name      string
	Question  string
	Source    string // of the published numbers
	Published []Published
	Notes     string // what a reader must know, such as why ours differ
	Axes      []Axis // empty when arms are named
	Arms      []Arm
	Pairs     []Pair // comparisons that the verdicts are about, in order
	Design    string
	Least     int           // blocks before it may stop
	Most      int           // blocks
	Fill      time.Duration // driven before all else and without the volume's limit, so that caches are as full as they will be
	Warmup    time.Duration // driven and left out
	Measure   time.Duration // of each trial; in ABBA of each period; in Interleaved all turns of an arm together
	Unsteady  bool          // measure.unsteady: trials whose rate is not steady count all the same, because it is what is asked about
	Until     float64       // stop when every comparison's interval is within ±this part; 0: do all blocks
	Decided   bool          // until: decided: stop when every comparison is
	Budget    time.Duration // begin no block that would end later; 0 for no limit
	Metric    string        // rate, or mean, p50, p95, p99 of the response time
	Margin    float64       // differences within ±this part count as none
	Checks    []string      // invariants tested after each trial: consistency, rows, no-errors
	Seed      uint64        // of the order, and of each block's load
	Text      []byte        // the file as it was read
	Hash      string        // of what decides the trials: the same hash, the same experiment
}

// Published is a number of the source, to stand beside ours.
type Published struct {
	Arm   string  `yaml:"arm" json:"arm"`
	Value float64 `yaml:"value" json:"value"`
	Unit  string  `yaml:"unit" json:"unit"`
	Note  string  `yaml:"note" json:"note,omitempty"`
}

// Axis is one thing that is varied.
type Axis struct {
	Name   string  `json:"name"`
	Levels []Level `json:"levels"`
}

// Level is one value of an axis.
type Level struct {
	Name string            `json:"name"`
	Set  map[string]string `json:"set"` // path in Setup to value
}

// Arm is one set-up that is compared with others.
type Arm struct {
	Name   string            `json:"name"`
	Levels map[string]string `json:"levels,omitempty"` // by axis
	Setup  Setup             `json:"setup"`
}

// Arm gives the arm of a name; one of that name without a set-up when there is none.
func (x Experiment) Arm(name string) Arm {
	if i := slices.IndexFunc(x.Arms, func(a Arm) bool { return a.Name == name }); i >= 0 {
		return x.Arms[i]
	}
	return Arm{Name: name}
}

// Pair is one comparison.
type Pair struct {
	Arm      string `json:"arm"`
	Baseline string `json:"baseline"`
}

// Trial is one arm in one block.
type Trial struct {
	Block    int    `json:"block"`    // from 1
	Position int    `json:"position"` // in its block, from 1
	Arm      string `json:"arm"`
	Seed     uint64 `json:"seed"` // of the load: one for all arms of a block, so that they get the same operations
}

//go:embed experiment.v1.schema.json
var schema string

// Schema gives the JSON Schema of experiment files, for editors. [Parse] is
// stricter: it also knows what fits together.
func Schema() []byte { return []byte(schema) }
