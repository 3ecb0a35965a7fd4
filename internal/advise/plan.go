package advise

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/stack"
)

// PlanVersion is the version of the plan file.
const PlanVersion = 1

// Plan is an ordered list of steps for one host. It can be saved as JSON,
// read back and compared.
type Plan struct {
	Plumb   int       `json:"plumb"`    // PlanVersion
	Kind    string    `json:"kind"`     // "plan"
	Host    string    `json:"host"`     // host name the plan is for; "" when not seen
	TakenAt time.Time `json:"taken_at"` // when the host was read
	Steps   []Step    `json:"steps"`    // in the order in which to do them
}

// Step sets one knob.
type Step struct {
	Knob           stack.Knob     `json:"knob"`
	From           stack.Value    `json:"from"` // the value in force; null when it is not known
	To             stack.Value    `json:"to"`
	Because        string         `json:"because"` // title of the first finding that asks for it
	Why            []string       `json:"why"`     // rules that ask for it
	Effect         catalog.Effect `json:"effect"`  // when it takes effect
	DurabilityFrom string         `json:"durability_from"`
	DurabilityTo   string         `json:"durability_to"`
	Note           string         `json:"note,omitempty"`
}

// Equal reports whether two steps do the same.
func (s Step) Equal(o Step) bool { return s.Knob == o.Knob && s.To.Equal(o.To) }

// ReadPlan reads a plan file.
func ReadPlan(data []byte) (Plan, error) {
	var p Plan
	err := CheckForm(data, "plan", PlanVersion)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err != nil {
		return Plan{}, fmt.Errorf("read plan: %w", err)
	}
	return p, nil
}

// CheckForm refuses JSON that does not say it is of a kind, or is of another
// version of its form.
func CheckForm(data []byte, kind string, version int) error {
	var form struct {
		Plumb int
		Kind  string
	}
	if err := json.Unmarshal(data, &form); err != nil {
		return err
	}
	switch {
	case form.Kind != kind || form.Plumb < version:
		return fmt.Errorf("kind %q version %d: want kind %q version %d", form.Kind, form.Plumb, kind, version)
	case form.Plumb > version:
		return hint.Newer("it is a "+kind, form.Plumb, version)
	}
	return nil
}

// plan collects the steps of the findings in their order, each once.
// resolveConflicts has made sure that a knob has one value.
func plan(fs []Finding, s *stack.Stack) Plan {
	p := Plan{Plumb: PlanVersion, Kind: "plan", Host: s.Hostname(), TakenAt: s.TakenAt, Steps: []Step{}}
	eachStep(fs, func(f *Finding, c *Case, r *Remedy) {
		i := slices.IndexFunc(p.Steps, r.Step.Equal)
		if i < 0 {
			for _, also := range c.Also {
				r.Step.Why = append(slices.Clone(r.Step.Why), also.Rule)
			}
			p.Steps = append(p.Steps, r.Step)
			return
		}
		if why := p.Steps[i].Why; !slices.Contains(why, f.Rule.ID) {
			p.Steps[i].Why = append(slices.Clone(why), f.Rule.ID)
		}
	})
	return p
}
