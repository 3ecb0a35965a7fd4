package predict

import (
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/budget"
	"plumb/internal/catalog"
	"plumb/internal/product"
	"plumb/internal/provision"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Prediction is a host as a plan makes it, and what the rules then say.
type Prediction struct {
	Stack    *stack.Stack
	Pool     map[string]string  // properties a new pool is made with
	Volumes  []provision.Volume // with the properties they are made with
	Settings []advise.Step      // of what is there already: the server, the kernel, the module
	Why      map[string][]string
	Left     []advise.Finding // above a note, of the server or of what it lies on: nothing here mends them
	Notes    []advise.Finding
	Waits    []Wait // what is judged only once the server has carried a load

	was *stack.Stack
}

// Wait is what of the load a rule waits for.
type Wait struct {
	Rule  string
	About []string
}

// most bounds the rounds in which one rule's advice makes another speak.
const most = 12

// Predict follows the advice of the rules on the host as the layout makes it, until nothing above a
// note is left that a value would mend. Of what is only being made, notes are followed too: at its birth
// they cost nothing.
func Predict(s *stack.Stack, l Layout, cat *catalog.Catalog, judge advise.Judge) Prediction {
	p := Prediction{Stack: l.Stack(s, cat), was: s, Pool: map[string]string{}, Why: map[string][]string{}}
	l = l.on(p.Stack)
	born := func(of stack.Ref) bool { return s.Find(of) == nil }
	for range most {
		steps := advised(judge(p.Stack), p.Stack, cat, l, born)
		if !p.follow(steps) {
			break
		}
		p.count(l)
	}
	p.split(l, born)
	check := l
	check.Memory = 0 // of which it knows nothing
	p.count(check)
	p.rest(judge(p.Stack), cat, l)
	return p
}

// Settings gives what the rules advise of a host as it is, round after round, for the server of a
// layout and what it lies on: findings above a note, that a value mends.
func Settings(s *stack.Stack, l Layout, cat *catalog.Catalog, judge advise.Judge) []advise.Step {
	p := Prediction{Stack: s.Clone(), was: s}
	l = l.on(p.Stack)
	l.memory(p.Stack)
	for range most {
		if !p.follow(advised(judge(p.Stack), p.Stack, cat, l, func(stack.Ref) bool { return false })) {
			break
		}
		p.count(l)
	}
	return p.Settings
}

// Left gives the findings of a host as it is that are about the server of a layout and what it lies on:
// above a note, and notes.
func Left(s *stack.Stack, l Layout, cat *catalog.Catalog, judge advise.Judge) (left, notes []advise.Finding) {
	p := Prediction{Stack: s}
	p.rest(judge(s), cat, l.on(s))
	return p.Left, p.Notes
}

// advised lists the steps that are taken: of what is being made every one, of what is there those of
// findings above a note.
func advised(verdicts []rule.Evaluation, s *stack.Stack, cat *catalog.Catalog, l Layout, born func(stack.Ref) bool) (steps []advise.Step) {
	a := advise.From(verdicts, s, cat, advise.Options{})
	for _, step := range a.Plan.Steps {
		if l.concerns(step.Knob.Of) && (born(step.Knob.Of) || aboveNote(a.Findings, step)) {
			steps = append(steps, step)
		}
	}
	return steps
}

// aboveNote tells whether a finding that is worse than a note is about the knob of a step: where a note knows better what it
// is to be set to, the step mends both.
func aboveNote(all []advise.Finding, step advise.Step) bool {
	return slices.ContainsFunc(all, func(f advise.Finding) bool {
		return f.Rule.Harm != rule.Note && slices.ContainsFunc(f.Cases, func(c advise.Case) bool {
			return slices.ContainsFunc(c.Remedies, func(r advise.Remedy) bool { return r.IsStep() && r.Step.Knob == step.Knob })
		})
	})
}

// concerns tells whether a plan for the server may set a thing: neither another server nor what
// only others lie on.
func (l Layout) concerns(of stack.Ref) bool {
	switch {
	case product.IsServer(of.Kind):
		return of == l.Server
	case of.Kind == "dataset":
		return slices.ContainsFunc(l.Volumes, func(v provision.Volume) bool { return v.Dataset == of.Name })
	case of.Kind == "pool":
		return of.Name == l.Pool
	case of.Kind == "filesystem":
		at := strings.TrimSuffix(of.Name, "#planned")
		return slices.ContainsFunc(l.Volumes, func(v provision.Volume) bool { return v.At == at })
	case of.Kind == "block":
		return slices.Contains(l.Disks, of)
	}
	return true
}

// follow sets what is advised on the predicted stack, and tells whether anything changed. A knob that
// was set once is left: two rules that disagree would set it for ever.
func (p *Prediction) follow(steps []advise.Step) (changed bool) {
	for _, step := range steps {
		t := p.Stack.Find(step.Knob.Of)
		if t == nil || slices.ContainsFunc(p.Settings, func(had advise.Step) bool { return had.Knob == step.Knob }) {
			continue
		}
		t.Setting(step.Knob.Name, step.To, source, stack.Origin{From: stack.FromLocal})
		p.Settings = append(p.Settings, step)
		changed = true
	}
	return changed
}

// count counts the memory again with what was set so far. It is of the host as it was read: what a server has served, and how many
// came, is of the load, which is forgotten in the prediction.
func (p *Prediction) count(l Layout) { budget.Take(p.Stack, l.after(p.was, p.Settings)) }

// split parts what things are born with from what is set on those that are there.
func (p *Prediction) split(l Layout, born func(stack.Ref) bool) {
	p.Volumes = slices.Clone(l.Volumes)
	for i, v := range p.Volumes {
		p.Volumes[i].Properties = map[string]string{}
		for name, value := range v.Properties {
			p.Volumes[i].Properties[name] = value
		}
	}
	var left []advise.Step
	for _, step := range p.Settings {
		of := step.Knob.Of
		i := slices.IndexFunc(p.Volumes, func(v provision.Volume) bool { return of.Kind == "dataset" && v.Dataset == of.Name })
		switch {
		case !born(of):
			left = append(left, step)
			continue
		case i >= 0:
			p.Volumes[i].Properties[step.Knob.Name] = step.To.String()
		case of.Kind == "pool":
			p.Pool[step.Knob.Name] = step.To.String()
		}
		p.Why[of.Name+" "+step.Knob.Name] = step.Why
	}
	p.Settings = left
	p.raise()
}

// ofPages is the property that is of one volume: it goes by the pages that are written there.
const ofPages = "recordsize"

// raise gives the dataset above the others what is advised of the data, but for what is of its pages: so the logs
// have it too, and a dataset that is added later.
func (p *Prediction) raise() {
	top := slices.IndexFunc(p.Volumes, func(v provision.Volume) bool { return v.Role == "" && v.Properties != nil })
	data := slices.IndexFunc(p.Volumes, func(v provision.Volume) bool { return v.Role == "data" })
	if top < 0 || data < 0 || p.was.Find(stack.Ref{Kind: "dataset", Name: p.Volumes[top].Dataset}) != nil {
		return
	}
	for name, value := range p.Volumes[data].Properties {
		if name == ofPages {
			continue
		}
		p.Volumes[top].Properties[name] = value
		delete(p.Volumes[data].Properties, name)
		p.Why[p.Volumes[top].Dataset+" "+name] = p.Why[p.Volumes[data].Dataset+" "+name]
		delete(p.Why, p.Volumes[data].Dataset+" "+name)
		for _, v := range p.Volumes {
			if ds, above := p.Stack.Find(stack.Ref{Kind: "dataset", Name: v.Dataset}), p.Volumes[top].Dataset; ds != nil && v.Role != "data" {
				f := ds.Facts[name]
				f.Value, f.Origin = stack.Text(value), &stack.Origin{From: stack.FromInherited, Of: above}
				ds.Facts[name] = f
			}
		}
	}
}

// rest is what the rules say once all is followed.
func (p *Prediction) rest(verdicts []rule.Evaluation, cat *catalog.Catalog, l Layout) {
	a := advise.From(verdicts, p.Stack, cat, advise.Options{})
	for _, f := range a.Findings {
		f.Cases = slices.DeleteFunc(slices.Clone(f.Cases), func(c advise.Case) bool { return !l.about(c.Things) })
		switch {
		case len(f.Cases) == 0:
		case f.Rule.Harm == rule.Note:
			p.Notes = append(p.Notes, f)
		default:
			p.Left = append(p.Left, f)
		}
	}
	for _, v := range verdicts {
		if v.Rule.Harm == rule.Note || !slices.Contains(v.Things, l.Server) {
			continue
		}
		about := advise.WaitsFor(v, cat)
		if len(about) > 0 && !slices.ContainsFunc(p.Waits, func(w Wait) bool { return w.Rule == v.Rule.ID }) {
			p.Waits = append(p.Waits, Wait{v.Rule.ID, about})
		}
	}
}

// about tells whether a finding concerns the server or what it will lie on.
func (l Layout) about(things []stack.Ref) bool {
	return !slices.ContainsFunc(things, func(r stack.Ref) bool { return !l.concerns(r) })
}
