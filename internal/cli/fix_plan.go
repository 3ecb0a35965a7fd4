package cli

import (
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/stack"
)

// choosePlan gives the steps that were asked for.
func (x *fixing) choosePlan() (advise.Plan, error) {
	switch {
	case len(x.set) > 0:
		return x.planOfSets()
	case x.file != "":
		p, err := x.planOfFile()
		if err != nil {
			return p, err
		}
		p.Steps = slices.DeleteFunc(p.Steps, func(s advise.Step) bool { return !x.choice.takes(s) })
		return p, nil
	}
	if err := onlyThere(x.only, x.stack); err != nil {
		return advise.Plan{}, err
	}
	return x.know.judge(x.stack, false).Advice.Plan, nil
}

// takes reports whether a step of a plan was asked for: --skip and --rule
// name rules, --only areas or things; --skip may also name the knob.
func (f choice) takes(s advise.Step) bool {
	asked := func(rule string) bool { return f.asks(rule) }
	if len(s.Why) > 0 && !slices.ContainsFunc(s.Why, asked) || slices.Contains(f.skip, s.Knob.String()) {
		return false
	}
	return len(f.only) == 0 || f.names(s.Knob.Of.Kind) || slices.Contains(f.only, s.Knob.Of.String()) ||
		slices.ContainsFunc(s.Why, func(rule string) bool { return f.names(areaOf(rule)) })
}

// planOfFile reads a plan and sees that it is for this host.
func (x *fixing) planOfFile() (advise.Plan, error) {
	text, err := x.readPlan()
	if err != nil {
		return advise.Plan{}, fmt.Errorf("read the plan %s: %w", x.file, cause(err))
	}
	p, err := advise.ReadPlan(text)
	if err != nil {
		return p, withHint(fmt.Errorf("%s: %w", x.file, err), "plumb check --plan FILE writes one")
	}
	if x.image != "" { // an image has no name of its own yet
		return p, nil
	}
	if here := x.hostname(); p.Host != "" && here != "" && p.Host != here {
		return p, withHint(fmt.Errorf("the plan %s is for the host %s, and this is %s", x.file, p.Host, here), "plumb check --plan FILE makes one for this host")
	}
	return p, nil
}

func (x *fixing) readPlan() ([]byte, error) {
	if x.file == "-" {
		return io.ReadAll(x.in)
	}
	return os.ReadFile(path.Clean(x.file))
}

func (x *fixing) hostname() string {
	if h := x.stack.Host(); h != nil {
		return h.Text("hostname")
	}
	return ""
}

// planOfSets makes a plan of --set.
func (x *fixing) planOfSets() (advise.Plan, error) {
	p := advise.Plan{Plumb: advise.PlanVersion, Kind: "plan", Host: x.hostname(), TakenAt: x.stack.TakenAt}
	for _, text := range x.set {
		s, err := readSet(text, x.know.catalog, x.stack)
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

// readSet reads kind:name#knob=value. The host need not be named.
func readSet(text string, cat *catalog.Catalog, s *stack.Stack) (advise.Step, error) {
	wrong := func(why string, args ...any) (advise.Step, error) {
		return advise.Step{}, &usageError{fmt.Sprintf("--set %s: ", text) + fmt.Sprintf(why, args...), "want THING#KNOB=VALUE, such as mysql:3306#sync_binlog=1 or dataset:tank/db#recordsize=16K"}
	}
	where, value, ok := strings.Cut(text, "=")
	thing, name, named := strings.Cut(where, "#")
	if !ok || !named {
		return wrong("not understood")
	}
	of, err := stack.ParseRef(thing)
	if err != nil {
		return wrong("%v", err)
	}
	fact := cat.Fact(of.Kind, name)
	if fact == nil || fact.Knob == nil {
		var like []string
		for k := range cat.Knobs(of.Kind) {
			like = append(like, k)
		}
		slices.Sort(like)
		if hint := meant(name, like); hint != "" {
			return advise.Step{}, &usageError{fmt.Sprintf("--set %s: there is no knob %s of kind %s", text, name, of.Kind), hint}
		}
		return wrong("there is no knob %s of kind %s", name, of.Kind)
	}
	to, err := catalog.ParseValue(fact, value)
	if err != nil {
		return wrong("%v", err)
	}
	step := advise.Step{Knob: stack.Knob{Of: of, Name: name}, To: to, Because: "asked for on the command line", Effect: fact.Knob.Effect}
	if t := s.Find(of); t != nil {
		step.From, _ = t.Get(name)
	}
	return step, nil
}
