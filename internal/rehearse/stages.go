package rehearse

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"plumb/internal/advise"
	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/stack"
	"plumb/internal/units"
)

// Names of the stages.
const (
	stageAll   = "all"
	stageSteps = "steps"
)

// How trials are spread over the budget.
const (
	firstPart   = 0.45 // of the budget, at most, decides about all advice together
	leastBlocks = 3
	likelyEnd   = 5         // blocks after which what is clear is decided
	fewSteps    = 3         // data are made smaller so that at least as many can be tried
	enoughData  = 512 << 20 // down to which they are made smaller so that all can be
)

// errTime says that data of this size leave no time for the trials.
var errTime = errors.New("--max-time is too short")

// stages makes the experiments. It fails with errTime when less data would
// leave time for more, unless there cannot be less.
func (d *draft) stages(steps []Step, plan advise.Plan, final bool) (Proposal, error) {
	p := Proposal{Server: d.server.Ref, Engine: d.engine, Title: strings.TrimSpace(labelOf(d.engine) + " " + d.server.Text("version") + " " + onText(d.on)),
		Dir: d.site.Dir, Scale: d.size.scale, Memory: d.size.realMemory, Steps: steps, Plan: plan}
	if d.want.Like != nil {
		p.Server = stack.Ref{}
	}
	if dataset := d.datasetOfData(); dataset != nil {
		p.Dataset = dataset.Ref
	}
	tried := d.nameArms(p.Steps)
	byPromise(tried)
	d.tried = tried
	if len(tried) == 0 {
		p.Says = d.describe()
		return p, nil
	}
	all, err := d.stage(stageAll, d.allArms(tried), d.want.Budget)
	if err != nil {
		return Proposal{}, err
	}
	t := experiment.Estimate(all.Experiment)
	first := time.Duration(firstPart * float64(d.want.Budget))
	if len(tried) == 1 {
		first = d.want.Budget
	}
	enough := t.Loading+likelyEnd*t.Block <= first
	if !enough && !final {
		return Proposal{}, errTime
	}
	if least := t.Loading + leastBlocks*t.Block; least > d.want.Budget {
		return Proposal{}, hint.With(fmt.Errorf("--max-time %s is too short: the server as it is and with all advice take at least %s, in %d blocks of two trials", units.Short(d.want.Budget), minutes(least), leastBlocks),
			"--max-time "+minutes(max(2*least, least+5*time.Minute))+" is enough for that")
	}
	if len(tried) > 1 {
		return d.both(p, all, tried, first, final)
	}
	tried[0].call(AllAdvice) // alone it is all advice
	p.Stages, p.Says = []Stage{all}, d.describe()
	return p, nil
}

// both makes the second stage, and gives each its part of the budget.
func (d *draft) both(p Proposal, all Stage, tried []unit, first time.Duration, final bool) (Proposal, error) {
	t := experiment.Estimate(all.Experiment)
	likely := t.Loading + likelyEnd*t.Block
	rest := max(d.want.Budget-min(first, likely), time.Second)
	again := t.Loading / time.Duration(len(experiment.Layouts(all.Experiment))) // the data of the server as it is stay from the first stage
	single := d.alone(tried)
	second, err := d.stage(stageSteps, d.stepArms(tried, single), rest)
	if err != nil {
		return Proposal{}, err
	}
	fit := 0
	for k := len(single); k > 0 && fit == 0; k-- {
		x := second.Experiment
		x.Arms = x.Arms[:k+1] // the first is what the others are compared with
		x.Design = d.design(d.stepArms(tried, single[:k]))
		if e := experiment.Estimate(x); max(0, e.Loading-again)+leastBlocks*e.Block <= rest {
			fit = k
		}
	}
	wanted := len(single)
	if d.size.data <= enoughData {
		wanted = min(fewSteps, wanted)
	}
	if fit < wanted && !final {
		return Proposal{}, errTime
	}
	for _, u := range single[fit:] {
		u.call("") // no time: it is said when it is known how much would do
	}
	part := d.want.Budget
	if fit > 0 {
		part = first
	}
	all, err = d.stage(stageAll, d.allArms(tried), part)
	if err != nil {
		return Proposal{}, err
	}
	p.Stages, p.Says = []Stage{all}, d.describe()
	if fit > 0 && fit < len(single) {
		second, err = d.stage(stageSteps, d.stepArms(tried, single[:fit]), rest)
	}
	if fit > 0 {
		p.Stages = append(p.Stages, second)
	}
	return p, err
}

// minutes writes a time rounded up to what a person would give as a budget.
func minutes(t time.Duration) string {
	return fmt.Sprintf("%dm", int((t+time.Minute-1)/time.Minute))
}

func onText(on string) string {
	if on == "" || strings.HasPrefix(on, "below ") {
		return on
	}
	return "on " + on
}

// arm is a set-up by what it changes in that of the server as it is.
type arm struct {
	name    string
	set     []change
	without bool // all advice but something: what that adds is all advice against this
}

type change struct{ path, value string }

// unit is a step, or the steps that the same rules ask for: commit_siblings
// brings nothing without the commit_delay that came with it, so they are tried together.
type unit []*Step

// call gives its steps the name of their arm, and says which others are in it;
// "" when they have none.
func (u unit) call(arm string) {
	for _, s := range u {
		s.Arm, s.With = arm, nil
		if arm != "" {
			s.With = u.others(s)
		}
	}
}

func (u unit) arm() string { return u[0].Arm }

// late tells of steps that show only where the rest is followed. By themselves
// they would bring nothing, so they are tried on top of the rest.
func (u unit) late() bool { return u[0].Note == AfterTheRest }

// alone leaves the steps that the second stage tries.
func (d *draft) alone(tried []unit) []unit {
	return slices.DeleteFunc(slices.Clone(tried), func(u unit) bool { return u.late() && !d.want.WithoutOne })
}

// unitsOf puts the steps that can be tried together.
func unitsOf(steps []Step) (all []unit) {
	for i := range steps {
		s := &steps[i]
		if s.Left != "" {
			continue
		}
		k := slices.IndexFunc(all, func(u unit) bool {
			return u.late() && unit{s}.late() || len(s.Why) > 0 && slices.Equal(u[0].Why, s.Why)
		})
		if k < 0 {
			all = append(all, unit{s})
			continue
		}
		all[k] = append(all[k], s)
	}
	return all
}

// byPromise puts first what promises most speed, because the budget may have no
// time for all. Last comes what is kept whatever a trial shows.
func byPromise(all []unit) {
	slices.SortStableFunc(all, func(a, b unit) int {
		switch a, b := a[0].Importance, b[0].Importance; {
		case a.Safety != b.Safety && a.Safety:
			return 1
		case a.Safety != b.Safety:
			return -1
		default:
			return cmp.Compare(b.Gain, a.Gain)
		}
	})
}

// others gives the numbers of the steps beside one.
func (u unit) others(than *Step) (numbers []int) {
	for _, s := range u {
		if s != than {
			numbers = append(numbers, s.Number)
		}
	}
	return numbers
}

// nameArms gives the steps that can be tried the names of their arms, and
// lists them.
func (d *draft) nameArms(steps []Step) (tried []unit) {
	const longest = 80 // an experiment allows 100
	taken := []string{AsIs, AllAdvice}
	tried = unitsOf(steps)
	for _, u := range tried {
		name := strings.TrimSpace(cut(u.sets(), longest))
		if slices.Contains(taken, name) {
			name = fmt.Sprintf("%s (step %d)", name, u[0].Number)
		}
		taken = append(taken, name)
		for _, s := range u {
			s.Called = name
		}
		if d.want.WithoutOne || u.late() {
			name = "without " + name
		}
		u.call(name)
	}
	return tried
}

// sets says what the steps set: commit_delay = 5000, commit_siblings = 1.
func (u unit) sets() string {
	var all []string
	for _, s := range u {
		name := s.Path[strings.LastIndex(s.Path, ".")+1:]
		if rest, host := strings.CutPrefix(s.Path, "host."); host {
			name = rest
		}
		all = append(all, name+" = "+s.Value)
	}
	return strings.Join(all, ", ")
}

// cut shortens a text to so many bytes, between characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len("…")], "") + "…"
}

func changes(units []unit) (set []change) {
	for _, u := range units {
		for _, s := range u {
			set = append(set, change{s.Path, s.Value})
		}
	}
	return set
}

// allArms are the server as it is and with all advice, and without what shows
// only then.
func (d *draft) allArms(tried []unit) []arm {
	arms := []arm{{name: AsIs}, {name: AllAdvice, set: changes(tried)}}
	for _, u := range tried {
		if u.late() && len(tried) > 1 && !d.want.WithoutOne {
			arms = append(arms, without(tried, u))
		}
	}
	return arms
}

// stepArms sets each of some units by itself, or all but each of them.
func (d *draft) stepArms(tried, some []unit) []arm {
	first := arm{name: AsIs}
	if d.want.WithoutOne {
		first = arm{name: AllAdvice, set: changes(tried)}
	}
	arms := []arm{first}
	for _, u := range some {
		a := arm{name: u.arm(), set: changes([]unit{u})}
		if d.want.WithoutOne {
			a = without(tried, u)
		}
		arms = append(arms, a)
	}
	return arms
}

// without is all advice but a unit.
func without(tried []unit, u unit) arm {
	others := slices.DeleteFunc(slices.Clone(tried), func(o unit) bool { return o[0] == u[0] })
	return arm{name: u.arm(), set: changes(others), without: true}
}

// pace is how long a trial is driven.
type pace struct {
	fill    time.Duration // without the volume's limit, which caches would take hours to fill under; 0 where there is none
	warmup  time.Duration
	measure time.Duration
}

// pace makes trials longer where there is more time, because what happens
// seldom is then seen.
func (d *draft) pace() pace {
	const usual = 15 * time.Minute
	factor := float64(d.want.Budget) / float64(usual)
	if factor > 1 {
		factor = min(math.Sqrt(factor), 4)
	}
	scale := func(t, least time.Duration) time.Duration {
		return max(least, time.Duration(factor*float64(t)).Round(time.Second))
	}
	p := pace{warmup: scale(12*time.Second, 3*time.Second), measure: scale(11*time.Second, 4*time.Second)} // a cache of half a gigabyte fills in ten seconds and more
	if d.volume.Profile != "" {
		p.fill = scale(10*time.Second, 3*time.Second)
	}
	return p
}

// mostBlocks is as many as the budget is large. Each block is a chance to stop
// by chance: with more than twelve, more than 7 % of equal arms would be called
// different. More time than that makes trials longer.
func (d *draft) mostBlocks() int {
	return min(max(8, int(d.want.Budget/(150*time.Second))), 12)
}
