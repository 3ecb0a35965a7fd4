package provision

import (
	"plumb/internal/advise"
	"plumb/internal/change"
	"plumb/internal/provision"
	"plumb/internal/provision/propose"
	"plumb/internal/stack"
	"plumb/internal/view/page"
)

// ProvisionJSON is version 1 of what provision --json prints.
type ProvisionJSON struct {
	Plumb   int                    `json:"plumb"`
	Kind    string                 `json:"kind"`    // "provision"
	Of      string                 `json:"of"`      // what its stages are called in the journal
	Server  string                 `json:"server"`  // mysql:3306; "" when it was undone, or is not installed yet
	Applied bool                   `json:"applied"` // whether anything could be done: false for --dry-run
	Acts    int                    `json:"acts"`    // that were done, or would be
	Stages  []ProvisionStageJSON   `json:"stages"`  // in the order in which they are done, or undone
	Refused []ProvisionRefusedJSON `json:"refused"` // settings that rules advise and Plumb does not set
	Left    []ProvisionFindingJSON `json:"left"`    // what check says above a note: now, or of --dry-run as foretold
	Notes   []ProvisionFindingJSON `json:"notes"`   // likewise, notes
	Waits   []string               `json:"waits"`   // rules that are judged once the server has carried a load
}

// ProvisionStageJSON is one stage.
type ProvisionStageJSON struct {
	Name    string             `json:"name"`
	Change  int                `json:"change,omitempty"`  // its number in the journal
	Done    bool               `json:"done"`              // nothing was left to do, or it was done
	Seconds float64            `json:"seconds,omitempty"` // how long that took
	Acts    []ProvisionActJSON `json:"acts"`
	Lasting []string           `json:"permanent"` // what cannot be changed, or brought back, once it is done, in words
	Notes   []string           `json:"notes"`
}

// ProvisionActJSON is one act.
type ProvisionActJSON struct {
	Act   string   `json:"act"`   // edit, switch, make, copy or move
	Place string   `json:"place"` // what it changes
	Runs  []string `json:"runs"`  // commands and statements
}

// ProvisionRefusedJSON is a setting that is left to a person.
type ProvisionRefusedJSON struct {
	Knob   string `json:"knob"`
	To     string `json:"to"`
	Reason string `json:"reason"`
	Hint   string `json:"hint,omitempty"`
}

// ProvisionFindingJSON is one place where a rule fires.
type ProvisionFindingJSON struct {
	Rule  string `json:"rule"`
	Harm  string `json:"harm"`
	Title string `json:"title"`
}

// PlanDocument makes the document of a dry run.
func PlanDocument(p propose.Proposal) ProvisionJSON {
	d := document(p)
	d.Acts = acts(p.Stages)
	for _, s := range p.Stages {
		d.Stages = append(d.Stages, stageJSON(s))
	}
	d.Left, d.Notes = findingsJSON(p.Prediction.Left), findingsJSON(p.Prediction.Notes)
	for _, w := range p.Prediction.Waits {
		d.Waits = append(d.Waits, w.Rule)
	}
	return d
}

func document(p propose.Proposal) ProvisionJSON {
	d := ProvisionJSON{Plumb: 1, Kind: "provision", Of: p.Of, Server: named(p.Home.Server), Stages: []ProvisionStageJSON{}, Refused: []ProvisionRefusedJSON{},
		Left: []ProvisionFindingJSON{}, Notes: []ProvisionFindingJSON{}, Waits: []string{}}
	for _, r := range p.Refused {
		d.Refused = append(d.Refused, ProvisionRefusedJSON{r.Knob.String(), r.To.String(), r.Reason, r.Hint})
	}
	return d
}

// named gives the name of a server; "" of one that is not there yet.
func named(server stack.Ref) string {
	if server.IsZero() {
		return ""
	}
	return server.String()
}

func stageJSON(s provision.Stage) ProvisionStageJSON {
	j := ProvisionStageJSON{Name: s.Name, Done: s.Done, Acts: []ProvisionActJSON{}, Lasting: page.NotNil(s.Lasting), Notes: page.NotNil(s.Notes)}
	for _, step := range s.Steps {
		for _, a := range step.Recipe.Acts {
			j.Acts = append(j.Acts, actJSON(a))
		}
	}
	return j
}

func actJSON(a change.Act) ProvisionActJSON {
	j := ProvisionActJSON{Act: a.Kind(), Place: a.Place(), Runs: []string{}}
	var ops []change.Op
	if a.Switch != nil {
		ops = a.Switch.Do
	}
	if a.Make != nil {
		ops = a.Make.Do
	}
	for _, op := range ops {
		j.Runs = append(j.Runs, op.String())
	}
	return j
}

func findingsJSON(all []advise.Finding) []ProvisionFindingJSON {
	out := []ProvisionFindingJSON{}
	for _, f := range all {
		for _, c := range f.Cases {
			out = append(out, ProvisionFindingJSON{f.Rule.ID, string(f.Rule.Harm), c.Title})
		}
	}
	return out
}

// Document makes the document of what was done.
func Document(r propose.Result) ProvisionJSON {
	d := document(r.Last)
	d.Applied, d.Acts = true, r.Acts
	for _, c := range r.Stages {
		d.Stages = append(d.Stages, ProvisionStageJSON{Name: c.Name, Change: c.Change, Done: true, Seconds: c.Took.Seconds(), Acts: []ProvisionActJSON{}, Lasting: []string{}, Notes: []string{}})
	}
	d.Left, d.Notes = findingsJSON(r.Left), findingsJSON(r.Notes)
	return d
}

// AwayDocument makes the document of what was undone, or with no done would be.
func AwayDocument(of string, all []*change.Change, done bool) ProvisionJSON {
	d := document(propose.Proposal{Of: of})
	d.Applied = done
	for i := len(all) - 1; i >= 0; i-- {
		c := all[i]
		s := ProvisionStageJSON{Name: stageOf(c), Change: c.Number, Done: done, Acts: []ProvisionActJSON{}, Lasting: []string{}, Notes: []string{}}
		for _, a := range c.Acts {
			s.Acts = append(s.Acts, actJSON(a.Act))
		}
		d.Acts += len(s.Acts)
		d.Stages = append(d.Stages, s)
	}
	return d
}
