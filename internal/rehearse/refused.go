package rehearse

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"plumb/internal/lab/experiment"
	"plumb/internal/lab/report"
)

// Stages that are added where a server cannot be used with all advice.
const (
	StageAlone = "alone"   // a short trial of each step by itself: with which can it not be used?
	StageBut   = "all-but" // as it is, and with all advice but those
)

// Measures tells whether a stage's trials are long enough to measure something,
// and not only to show whether a server can be used.
func (s Stage) Measures() bool { return s.Name != StageAlone }

// A trial that only shows whether a server can be used is short.
const (
	aloneWarmup  = time.Second
	aloneMeasure = 2 * time.Second
)

// among gives the steps that all advice is made of, by the name that they have
// by themselves, in the order of the plan.
func (p Proposal) among() (names []string, set map[string]map[string]string) {
	set = map[string]map[string]string{}
	for _, s := range p.Steps {
		if s.Path == "" || s.Called == "" {
			continue
		}
		if set[s.Called] == nil {
			names, set[s.Called] = append(names, s.Called), map[string]string{}
		}
		set[s.Called][s.Path] = s.Value
	}
	return names, set
}

// Alone makes the experiment that finds the steps with which a server cannot be
// used: one short trial of each. r is the report of the first stage; where
// all advice runs, or is one step, ok is false. Steps that need data of their
// own are left out: the data would take far longer than the trial.
func (p Proposal) Alone(r report.Report) (s Stage, ok bool, err error) {
	names, set := p.among()
	if len(p.Stages) == 0 || len(names) < 2 || r.Arm(AllAdvice).Failed == "" || r.Arm(AsIs).Failed != "" {
		return s, false, nil
	}
	d := derived{name: StageAlone, question: "With which step of the advice can the server not be used?", keep: []string{AsIs}, least: 1, most: 1,
		warmup: aloneWarmup, measure: aloneMeasure, brief: true}
	write := func(names []string) (err error) {
		d.arms = nil
		for _, name := range names {
			d.arms = append(d.arms, fileArm{Name: name, Set: set[name]})
		}
		s, err = d.of(p.Stages[0], AsIs)
		return err
	}
	if err := write(names); err != nil {
		return s, false, err
	}
	arms := s.Experiment.Arms
	names = slices.DeleteFunc(names, func(name string) bool {
		i := slices.IndexFunc(arms, func(a experiment.Arm) bool { return a.Name == name })
		return i < 0 || experiment.LayoutKey(arms[i].Setup) != experiment.LayoutKey(arms[0].Setup)
	})
	if len(names) == 0 {
		return s, false, nil
	}
	return s, true, write(names)
}

// Refused names the steps with which the server could not be used by
// themselves. alone is the report of the stage of that name.
func (p Proposal) Refused(alone report.Report) []string {
	names, _ := p.among()
	return slices.DeleteFunc(names, func(name string) bool { return alone.Arm(AsIs).Failed != "" || alone.Arm(name).Failed == "" })
}

// AllBut makes the experiment of all advice without the steps that were refused
// alone, like the first stage. ok is false when none was, or all were.
func (p Proposal) AllBut(alone report.Report) (s Stage, ok bool, err error) {
	const longest = 95 // an experiment allows 100
	names, set := p.among()
	refused := p.Refused(alone)
	if len(p.Stages) == 0 || len(refused) == 0 || len(refused) == len(names) {
		return s, false, nil
	}
	rest := fileArm{Name: cut(allBut+strings.Join(refused, ", "), longest), Set: map[string]string{}}
	var rules []string
	for _, s := range p.Steps {
		if s.Path != "" && set[s.Called] != nil && !slices.Contains(refused, s.Called) {
			rest.Set[s.Path] = s.Value
			rules = append(rules, s.Why...)
		}
	}
	slices.Sort(rules)
	x := p.Stages[0].Experiment
	s, err = derived{name: StageBut, question: strings.TrimSuffix(x.Question, "?") + ", but what the server refuses?", keep: []string{AsIs}, arms: []fileArm{rest},
		compare: []filePair{{rest.Name, AsIs}}, least: x.Least, most: x.Most, warmup: x.Warmup, measure: x.Measure, budget: x.Budget,
		notes: rulesNote(rest.Name, slices.Compact(rules))}.of(p.Stages[0], AsIs)
	return s, err == nil, err
}

// allBut begins the name of the arm of all advice without what is refused.
const allBut = AllAdvice + " but "

// whole gives the stage whose last arm stands for all advice, by its number, and
// the name of that arm: the first, or the one without what the server refuses.
func (p Proposal) whole(reports []report.Report) (stage int, arm string) {
	for i := range reports {
		if i >= len(p.Stages) || p.Stages[i].Name != StageBut || len(reports[i].Records) == 0 {
			continue
		}
		for _, a := range p.Stages[i].Experiment.Arms {
			if strings.HasPrefix(a.Name, allBut) && reports[i].Arm(a.Name).Failed == "" {
				return i, a.Name
			}
		}
	}
	return 0, AllAdvice
}

// refused makes of a step that was not tried otherwise, or could not be, one
// that harms, where the server could not be used with it alone.
func (v *Verdict) refused(alone report.Report) {
	s := v.Step
	why := alone.Arm(s.Called).Failed
	if s.Called == "" || why == "" || alone.Arm(AsIs).Failed != "" || v.Word != NotTried && v.Failed == "" && v.Why == "" {
		return
	}
	v.Arm, v.Word, v.Failed, v.Why = cmp.Or(v.Arm, s.Called), Harms, cmp.Or(v.Failed, plainly(why)), ""
}
