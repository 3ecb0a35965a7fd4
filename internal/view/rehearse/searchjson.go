package rehearse

import (
	"math"

	"plumb/internal/rehearse"
	"plumb/internal/units"
	labview "plumb/internal/view/lab"
	"plumb/internal/view/page"
)

// RehearseSearchJSON is a search for better numbers.
type RehearseSearchJSON struct {
	Method      string                   `json:"method"`   // how points were chosen, for people
	Settings    []RehearseDialJSON       `json:"settings"` // that were searched
	NotSearched []string                 `json:"not_searched"`
	Answer      string                   `json:"answer"`                // for people
	Best        map[string]string        `json:"best,omitempty"`        // by path, as the experiment has it
	Expected    *labview.LabEstimateJSON `json:"expected,omitempty"`    // of the best by all trials together: ratio to as is less one
	Confirmed   []labview.LabVerdictJSON `json:"confirmed"`             // of the best, measured anew
	InPlan      bool                     `json:"in_plan"`               // the best is in the plan of what is kept
	NotInPlan   string                   `json:"not_in_plan,omitempty"` // why it is not, for people
	Broken      string                   `json:"broken,omitempty"`      // why the best could not run when it was measured anew
	Trials      []RehearsePointJSON      `json:"trials"`                // in the order in which they were measured
	Curves      []RehearseCurveJSON      `json:"curves"`
	Notes       []string                 `json:"notes"` // what to bear in mind, for people
	TookSeconds float64                  `json:"took_seconds"`
	Ended       string                   `json:"ended"` // why, for people
}

// RehearseDialJSON is a setting that was searched.
type RehearseDialJSON struct {
	Name  string  `json:"name"`
	Path  string  `json:"path"` // what it sets in the experiment
	Type  string  `json:"type"` // and unit of its numbers, as in the catalogue: "bytes", "int", "percent", …
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Scale bool    `json:"shares_memory"` // a server with twice the memory has twice the value
}

// RehearsePointJSON is one trial of a search.
type RehearsePointJSON struct {
	Values []float64 `json:"values"`           // of the settings, in their order
	Round  int       `json:"round"`            // trials of one round share the trial they are compared with
	Effect *float64  `json:"effect,omitempty"` // ratio to as is less one; missing when the trial does not count
	Failed bool      `json:"failed"`           // the server cannot be used so
}

// RehearseCurveJSON is the response to one setting, on average over what the
// others were set to in the trials.
type RehearseCurveJSON struct {
	Setting string                  `json:"setting"`
	Word    string                  `json:"word"`   // "matters", "makes no difference" or "not decided"
	Spread  labview.LabEstimateJSON `json:"spread"` // best against worst: ratio less one
	Points  []RehearseValueJSON     `json:"points"`
}

// RehearseValueJSON is one value of a setting and what it brings.
type RehearseValueJSON struct {
	Value  float64                 `json:"value"`
	Effect labview.LabEstimateJSON `json:"effect"` // ratio to as is less one
}

// rehearseSearch is a search as JSON; nil when there was none.
func rehearseSearch(s *rehearse.Search) *RehearseSearchJSON {
	if s == nil {
		return nil
	}
	j := &RehearseSearchJSON{Method: s.Method, Settings: []RehearseDialJSON{}, NotSearched: page.NotNil(s.Left), Answer: plainSpaces(searchSentence(*s)), Confirmed: []labview.LabVerdictJSON{},
		InPlan: s.InPlan, NotInPlan: s.Why, Broken: s.Broken, Trials: []RehearsePointJSON{}, Curves: []RehearseCurveJSON{}, Notes: page.NotNil(s.Says), TookSeconds: page.Finite(s.Took.Seconds()), Ended: s.Ended}
	for i, d := range s.Dials {
		j.Settings = append(j.Settings, RehearseDialJSON{Name: d.Name, Path: d.Path, Type: string(d.Type), Low: d.Low, High: d.High, Scale: d.Memory})
		if s.Best != nil {
			if j.Best == nil {
				j.Best = map[string]string{}
			}
			for path, text := range d.Sets(s.Best[i]) {
				j.Best[path] = text
			}
		}
	}
	if units.MeasuredAtAll(s.Expected) {
		expected := labview.LabEstimate(s.Expected)
		j.Expected = &expected
	}
	for _, v := range s.Confirmed {
		j.Confirmed = append(j.Confirmed, labview.LabVerdictJSON{Arm: v.Arm, Baseline: v.Baseline, Verdict: v.Word, Effect: labview.LabEstimate(v.Effect), Margin: page.Finite(v.Margin), More: v.More, Sentence: v.Sentence})
	}
	for _, o := range s.Tried {
		t := RehearsePointJSON{Values: o.Point, Round: o.Block, Failed: o.Failed}
		if units.IsReal(o.Value) {
			t.Effect = page.Known(math.Expm1(o.Value))
		}
		j.Trials = append(j.Trials, t)
	}
	for _, c := range s.Curves {
		curve := RehearseCurveJSON{Setting: s.Dials[c.Dimension].Name, Word: c.Word, Spread: labview.LabEstimate(c.Spread), Points: []RehearseValueJSON{}}
		for i, v := range c.Values {
			curve.Points = append(curve.Points, RehearseValueJSON{Value: v, Effect: labview.LabEstimate(c.Response[i])})
		}
		j.Curves = append(j.Curves, curve)
	}
	return j
}
