package rehearse

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"plumb/internal/hint"
	"plumb/internal/lab/experiment"
	"plumb/internal/product"
)

type (
	file     = experiment.File
	fileArm  = experiment.FileArm
	filePair = experiment.FilePair
)

// stageOf writes a file and reads it back: what is carried out is what plumb lab
// run would repeat.
func stageOf(f file, name string, atOnce int) (Stage, error) {
	text, err := f.Encode("Made by plumb rehearse; plumb lab run repeats it.")
	if err != nil {
		return Stage{}, fmt.Errorf("write the experiment %s: %w", name, err)
	}
	x, err := experiment.Parse("rehearsal-"+name+".yaml", text)
	if err != nil {
		return Stage{}, hint.With(fmt.Errorf("the experiment %s is not sound: %w", name, err), "this is a bug in Plumb: please report it, with the plan")
	}
	return Stage{Name: name, Experiment: x, Text: text, AtOnce: atOnce}, nil
}

// read is the inverse.
func (s Stage) read() (f file, err error) {
	if err := yaml.Unmarshal(s.Text, &f); err != nil {
		return f, fmt.Errorf("read the experiment %s: %w", s.Name, err)
	}
	return f, nil
}

// Seeded gives a stage with another seed: it is measured anew.
func (s Stage) Seeded(seed uint64) (Stage, error) {
	f, err := s.read()
	if err != nil {
		return s, err
	}
	f.Seed = &seed
	return stageOf(f, s.Name, s.AtOnce)
}

// Within gives a stage that has so much time.
func (s Stage) Within(budget time.Duration) (Stage, error) {
	f, err := s.read()
	if err != nil {
		return s, err
	}
	f.Budget = max(time.Second, budget.Round(time.Second))
	return stageOf(f, s.Name, s.AtOnce)
}

// stage makes an experiment of some arms.
func (d *draft) stage(name string, arms []arm, budget time.Duration) (Stage, error) {
	l, pace := d.load(), d.pace()
	f := file{Experiment: d.name(name), Question: fmt.Sprintf("What does all advice for %s together gain?", d.called()), Source: "plumb rehearse", Notes: d.notes(arms),
		Base: experiment.Setup{Volume: d.volume, Server: d.privateServer(), Load: l}, Design: d.design(arms), Blocks: experiment.FileBlocks{Least: leastBlocks, Most: d.mostBlocks()},
		Measure: experiment.FileMeasure{Fill: pace.fill, Warmup: pace.warmup, Time: pace.measure, Unsteady: true}, Until: "decided", Budget: budget.Round(time.Second), Metric: "rate", Margin: "5%", Checks: checks(l)}
	switch {
	case name != stageAll && d.want.WithoutOne:
		f.Question = fmt.Sprintf("What is lost where one step of the advice for %s is left out?", d.called())
	case name != stageAll:
		f.Question = fmt.Sprintf("What does each step of the advice for %s gain by itself?", d.called())
	}
	for i, a := range arms {
		set := map[string]string{}
		for _, c := range a.set {
			set[c.path] = c.value
		}
		f.Arms = append(f.Arms, fileArm{Name: a.name, Set: set})
		switch {
		case i == 0:
		case a.without: // what the step adds to the rest
			f.Compare = append(f.Compare, filePair{AllAdvice, a.name})
		default:
			f.Compare = append(f.Compare, filePair{a.name, arms[0].name})
		}
	}
	return stageOf(f, name, d.atOnce())
}

// privateServer is the one that is like the real one.
func (d *draft) privateServer() *experiment.Server {
	return &experiment.Server{Engine: d.engine, Version: d.version, Basedir: d.basedir, Memory: experiment.Bytes(d.size.memory),
		UsedLogs: product.Of(experiment.KindOf(d.engine)).SparseLogs, Create: d.create, Settings: d.settings}
}

// called names the server for people.
func (d *draft) called() string {
	if d.want.Like != nil { // it is gone when this is read
		return "a default " + labelOf(d.engine)
	}
	return d.server.Ref.String()
}

// name names the experiment after the server and the moment it was read: a
// later rehearsal is another one.
func (d *draft) name(stage string) string {
	name := strings.ToLower(d.server.Ref.String())
	if d.want.Like != nil {
		name = "default-" + d.engine
	}
	plainly := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, name)
	return fmt.Sprintf("rehearse-%s-%s-%s", strings.Trim(plainly[:min(len(plainly), 24)], "-"), d.stack.TakenAt.UTC().Format("20060102t150405"), stage)
}

// notes name the rules that the arms put to the test, in the form that [Tried]
// reads.
func (d *draft) notes(arms []arm) string {
	var all, lines []string
	for _, a := range arms {
		for _, u := range d.tried {
			if slices.ContainsFunc(a.set, func(c change) bool { return c.path == u[0].Path }) {
				all = append(all, u[0].Why...)
			}
			if u.arm() == a.name {
				lines = append(lines, rulesNote(a.name, u[0].Why))
			}
		}
	}
	slices.Sort(all)
	return strings.Join(append([]string{rulesAll + strings.Join(slices.Compact(all), ", ")}, lines...), "\n")
}
