package rehearse

import (
	"strings"

	"plumb/internal/advise"
	"plumb/internal/lab/report"
	"plumb/internal/rehearse"
	"plumb/internal/stack"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
)

// RehearseJSON is the document of plumb rehearse --json. A number that is not
// known is missing, never 0. The trials themselves are in the ledger: plumb
// lab report HASH --json.
type RehearseJSON struct {
	Plumb       int                 `json:"plumb"`   // JSONVersion
	Kind        string              `json:"kind"`    // "rehearse"
	Version     string              `json:"version"` // of the program
	Server      string              `json:"server"`  // kind:name; "" for a default server
	Engine      string              `json:"engine"`  // "mariadb", "mysql", "percona" or "postgres"
	Title       string              `json:"title"`   // product, version and filesystem
	Scale       *float64            `json:"scale,omitempty"`
	Sandbox     []string            `json:"sandbox"` // what the sandbox is like and how it differs from the server, for people
	Load        map[string]string   `json:"load"`    // by the paths that experiment files use, without "load."
	TookSeconds float64             `json:"took_seconds"`
	Ended       string              `json:"ended"`  // why it ended, for people
	Answer      string              `json:"answer"` // for people
	All         RehearseVerdictJSON `json:"all"`    // all advice together
	Steps       []RehearseStepJSON  `json:"steps"`  // in the order of the plan
	Stages      []RehearseStageJSON `json:"stages"` // experiments in the order in which they ran
	Plan        advise.Plan         `json:"plan"`   // what is kept
	Search      *RehearseSearchJSON `json:"search,omitempty"`
}

// RehearseStepJSON is a step of the plan and what was found of it.
type RehearseStepJSON struct {
	Number         int                 `json:"number"` // in the plan, from 1
	Knob           stack.Knob          `json:"knob"`
	From           stack.Value         `json:"from"` // null when it is not known
	To             stack.Value         `json:"to"`
	Because        string              `json:"because"`
	Rules          []string            `json:"rules"`  // that ask for it
	Effect         string              `json:"effect"` // when it takes effect
	DurabilityFrom string              `json:"durability_from"`
	DurabilityTo   string              `json:"durability_to"`
	Safety         bool                `json:"safety"`              // asked for by a rule about lost data or an outage
	Path           string              `json:"path,omitempty"`      // what it sets in the experiment
	Value          string              `json:"value,omitempty"`     // as the experiment has it
	With           []int               `json:"with,omitempty"`      // numbers of the steps that were tried in the same arm
	Scaled         string              `json:"scaled,omitempty"`    // how that differs from the plan's, for people
	NotTried       string              `json:"not_tried,omitempty"` // why
	Verdict        RehearseVerdictJSON `json:"verdict"`
	Keep           bool                `json:"keep"` // it is in the plan that is kept
	Why            string              `json:"why"`  // of keep, for people
}

// RehearseVerdictJSON is what was found.
type RehearseVerdictJSON struct {
	Word    string                  `json:"word"`                  // "helps", "no difference", "harms", "undecided", "not tried", "with all advice"; "" when nothing is known yet
	Arm     string                  `json:"arm,omitempty"`         // of the experiments
	Rate    labview.LabEstimateJSON `json:"rate"`                  // transactions a second: ratio to the baseline less one
	P99     labview.LabEstimateJSON `json:"p99"`                   // response time: the same; below zero is faster
	Within  float64                 `json:"within,omitempty"`      // of "no difference": within ± this part
	More    int                     `json:"more_blocks,omitempty"` // that would probably decide it
	Failed  string                  `json:"failed,omitempty"`      // the server refused it, crashed, or lost rows with it
	Refused string                  `json:"refused,omitempty"`     // why the server cannot be used with all advice, where this is of all but what it refuses
	Costs   []RehearseCostJSON      `json:"costs"`                 // of a transaction, where known before and after
}

// RehearseCostJSON is what a transaction takes of one layer.
type RehearseCostJSON struct {
	Layer  string                  `json:"layer"` // "client", "server", "filesystem", "device", "space" or "machine"
	Name   string                  `json:"name"`
	Unit   string                  `json:"unit"` // "us/op", "1/op", "B/op", "B" or "ratio"
	Before labview.LabEstimateJSON `json:"before"`
	After  labview.LabEstimateJSON `json:"after"`
}

// RehearseStageJSON is one experiment.
type RehearseStageJSON struct {
	Name       string   `json:"name"`
	Experiment string   `json:"experiment"` // its name in the ledger
	Hash       string   `json:"hash"`
	Begun      bool     `json:"begun"`
	Complete   bool     `json:"complete"`
	Stopped    string   `json:"stopped,omitempty"` // why it ended
	Blocks     int      `json:"blocks"`            // done
	Trials     int      `json:"trials"`
	NotCounted int      `json:"not_counted"`               // trials that do not count
	Smallest   *float64 `json:"smallest_effect,omitempty"` // as a part, that so many blocks would find four times in five
	File       string   `json:"file"`                      // as plumb lab run takes it
}

// Document is a rehearsal as JSON v1. version is that of the program.
func Document(r rehearse.Result, version string) RehearseJSON {
	p := r.Proposal
	d := RehearseJSON{Plumb: page.JSONVersion, Kind: "rehearse", Version: version, Engine: p.Engine, Title: p.Title, Sandbox: page.NotNil(p.Says), Load: loadPaths(p),
		TookSeconds: page.Finite(r.Took.Seconds()), Ended: r.Ended, Answer: plainSpaces(allSentence(r)), All: rehearseVerdict(r.All), Steps: []RehearseStepJSON{}, Stages: []RehearseStageJSON{}, Plan: r.Plan, Search: rehearseSearch(r.Search)}
	if !p.Server.IsZero() {
		d.Server = p.Server.String()
	}
	if p.Scale > 0 {
		d.Scale = page.Known(p.Scale)
	}
	if d.Plan.Steps == nil {
		d.Plan.Steps = []advise.Step{}
	}
	for i, v := range r.Steps {
		d.Steps = append(d.Steps, rehearseStep(stepNumber(r, i), v))
	}
	for i, s := range p.Stages {
		j := RehearseStageJSON{Name: s.Name, Experiment: s.Experiment.Name, Hash: s.Experiment.Hash, File: string(s.Text)}
		if i < len(r.Reports) {
			j.measured(r.Reports[i])
		}
		d.Stages = append(d.Stages, j)
	}
	return d
}

func rehearseStep(number int, v rehearse.Verdict) RehearseStepJSON {
	j := RehearseStepJSON{Number: number, Rules: []string{}, Verdict: rehearseVerdict(v), Keep: v.Keep, Why: v.Why}
	if s := v.Step; s != nil {
		j.Knob, j.From, j.To, j.Because, j.Rules, j.Effect = s.Knob, s.From, s.To, s.Because, page.NotNil(s.Step.Why), string(s.Effect)
		j.DurabilityFrom, j.DurabilityTo, j.Safety = s.DurabilityFrom, s.DurabilityTo, s.Safety
		j.Path, j.Value, j.With, j.Scaled, j.NotTried = s.Path, s.Value, s.With, s.Scaled, s.Left
	}
	return j
}

func rehearseVerdict(v rehearse.Verdict) RehearseVerdictJSON {
	j := RehearseVerdictJSON{Word: v.Word, Arm: v.Arm, Rate: labview.LabEstimate(v.Rate), P99: labview.LabEstimate(v.P99), Within: page.Finite(v.Within), More: v.More, Failed: v.Failed, Refused: v.Refused, Costs: []RehearseCostJSON{}}
	for _, c := range v.Costs {
		j.Costs = append(j.Costs, RehearseCostJSON{Layer: c.Layer, Name: c.Name, Unit: c.Unit, Before: labview.LabEstimate(c.Before), After: labview.LabEstimate(c.After)})
	}
	return j
}

func (j *RehearseStageJSON) measured(r report.Report) {
	j.Begun, j.Complete, j.Stopped, j.Blocks, j.Trials, j.NotCounted = true, r.Complete, r.Stopped, r.Done, len(r.Records), len(r.Invalid)
	if r.Smallest > 0 {
		j.Smallest = page.Known(r.Smallest)
	}
}

// loadPaths gives the load by the paths that experiment files use.
func loadPaths(p rehearse.Proposal) map[string]string {
	load := map[string]string{}
	for _, s := range p.Stages {
		if len(s.Experiment.Arms) == 0 {
			continue
		}
		for path, value := range labview.FlatSetup(s.Experiment.Arms[0].Setup) {
			if name, ok := strings.CutPrefix(path, "load."); ok {
				load[name] = value
			}
		}
		break // it is the same in all
	}
	return load
}

// plainSpaces undoes keep, for programs.
func plainSpaces(s string) string { return strings.ReplaceAll(s, string(page.NoBreak), " ") }
