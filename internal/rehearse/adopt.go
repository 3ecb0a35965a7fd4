package rehearse

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/lab/report"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Adopt puts the best point of the search into the plan of what is kept, where it
// was decided that it is better than all advice and than the server as it is:
// measured anew, in blocks in which it was not chosen. Otherwise the plan stays as
// it is, and the search says why. now gives what a setting of the server has
// in force; nil, or not known: the plan does not say it.
func (r *Result) Adopt(cat *catalog.Catalog, now func(stack.Knob) (stack.Value, bool)) {
	s := r.Search
	if s == nil {
		return
	}
	s.InPlan, s.Why = false, s.unproven()
	if s.Why != "" {
		return
	}
	steps, why := r.found(cat, now)
	if s.Why = why; why != "" {
		return
	}
	s.InPlan = true
	r.Plan.Steps = slices.Clone(r.Plan.Steps)
	for _, step := range steps {
		of := func(a advise.Step) bool { return a.Knob == step.Knob }
		if i := slices.IndexFunc(r.Plan.Steps, of); i >= 0 {
			r.Plan.Steps[i] = step
		} else {
			r.Plan.Steps = append(r.Plan.Steps, step)
		}
		for i := range r.Steps {
			if v := &r.Steps[i]; v.Step != nil && of(v.Step.Step) {
				v.Why = strings.TrimPrefix(v.Why+"; the plan has the value that the search found", "; ")
			}
		}
	}
}

// unproven says why the best point is not proved to be better than all advice;
// "" when it is.
func (s *Search) unproven() string {
	switch {
	case s.Best == nil:
		return "no trial gave a value"
	case s.Broken != "":
		return "the server could not be used with it"
	case s.AsAdvised():
		return "it is what is advised, or in force"
	case len(s.Confirmed) == 0:
		return "it was not measured again, so its gain is not proven"
	}
	overAll := false
	for _, v := range s.Confirmed {
		against := "all advice"
		if v.Baseline == AsIs {
			against = "the server as it is"
		} else {
			overAll = true
		}
		switch v.Word {
		case report.Better:
		case report.Undecided:
			return "whether it is better than " + against + " is not decided"
		default:
			return "it is no better than " + against
		}
	}
	if !overAll {
		return "it was not compared with all advice, with which the server cannot be used"
	}
	return ""
}

// found gives the steps that set the best point, or says why it cannot be set:
// all of its values were proved together, so it is all or none.
func (r *Result) found(cat *catalog.Catalog, now func(stack.Knob) (stack.Value, bool)) (steps []advise.Step, why string) {
	s := r.Search
	for i, d := range s.Dials {
		if near(s.Best[i], d.Start) {
			continue // as advised or in force: the search has not changed it
		}
		v := d.AtServer(s.Best[i], r.Proposal.Scale)
		if why := r.tooLarge(d, v); why != "" {
			return nil, why
		}
		for _, path := range slices.Sorted(maps.Keys(d.Sets(v))) {
			knob, ok := r.Proposal.knobOf(d.Kind, path)
			if !ok {
				return nil, "nobody knows here what has the setting " + path
			}
			factor := 1.0
			if path != d.Path {
				factor = d.Also[path]
			}
			step := advise.Step{Knob: knob, To: d.Value(v * factor), Why: []string{}, DurabilityFrom: catalog.Safe, DurabilityTo: catalog.Safe,
				Because: "a search found the value: with the others of the best point it is better than all advice" + interval(s.Confirmed[0].Effect), Note: "plumb rehearse --search: proven with all values of the best point, on top of all advice"}
			if why := r.about(&step, cat.Fact(d.Kind, knob.Name), d.Text(v*factor), now); why != "" {
				return nil, why
			}
			if !step.To.Equal(step.From) {
				steps = append(steps, step)
			}
		}
	}
	return steps, ""
}

// tooLarge says why a share of memory has no place in the server's.
func (r *Result) tooLarge(d Tunable, v float64) string {
	const most = 0.75 // of memory, as in the sandbox
	if !d.Memory || r.Proposal.Scale > 0.95 {
		return ""
	}
	switch memory := r.Proposal.Memory; {
	case memory <= 0:
		return "how much memory the server may take is not known, and " + d.Name + " is a share of it"
	case v > most*float64(memory):
		return fmt.Sprintf("at the server's size %s would be %s of its %s of memory", d.Name, units.Bytes(int64(v)), units.Bytes(memory))
	}
	return ""
}

// knobOf gives the setting of the server, or of its data's dataset, that a path
// of an experiment sets.
func (p Proposal) knobOf(kind, path string) (stack.Knob, bool) {
	of := p.Server
	if kind == "dataset" {
		of = p.Dataset
	}
	for _, s := range p.Steps { // a server that was made for the rehearsal has no other name
		if of.IsZero() && s.Knob.Of.Kind == kind {
			of = s.Knob.Of
		}
	}
	return stack.Knob{Of: of, Name: path[strings.LastIndex(path, ".")+1:]}, of.Kind == kind
}

// about completes a step by what the catalogue and the plan know of its
// setting. text is its value as the configuration takes it.
func (r *Result) about(step *advise.Step, f *catalog.Fact, text string, now func(stack.Knob) (stack.Value, bool)) (why string) {
	for _, s := range r.Proposal.Steps {
		if s.Knob == step.Knob {
			step.From, step.Why = s.From, s.Step.Why
		}
	}
	if now != nil {
		if v, known := now(step.Knob); known {
			step.From = v
		}
	}
	if f == nil || f.Knob == nil {
		return step.Knob.Name + " is not a setting that is known"
	}
	if f.Type == catalog.Text {
		step.To = stack.Text(text)
	}
	step.Effect, step.DurabilityTo = f.Knob.Effect, f.Durability(step.To)
	if !step.From.IsAbsent() {
		step.DurabilityFrom = f.Durability(step.From)
	}
	if catalog.Danger(step.DurabilityTo) > catalog.Danger(step.DurabilityFrom) {
		return step.Knob.Name + " would be less durable"
	}
	return ""
}

// AtServer is a value of the sandbox for the server itself: a share of memory
// is as much larger as the server is. scale is the sandbox as a part of it.
func (d Tunable) AtServer(v, scale float64) float64 {
	const unit = 64 << 20
	if !d.Memory || !(scale > 0) || scale > 0.95 {
		return v
	}
	return math.Floor(v/scale/unit) * unit
}

// near tells whether two values are the same but for the steps to which values
// are rounded. No start is near none.
func near(v, start float64) bool {
	const part = 0.02
	return math.Abs(v-start) <= part*math.Abs(start)
}
