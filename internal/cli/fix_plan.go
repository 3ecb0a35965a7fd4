package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/stack"
)

// choosePlan gives the steps that were asked for, without those whose knobs
// --skip names.
func (x *fixing) choosePlan() (advise.Plan, error) {
	p, err := x.wholePlan()
	for _, k := range x.skipKnobs {
		left := slices.DeleteFunc(slices.Clone(p.Steps), func(s advise.Step) bool { return s.Knob.String() == k })
		if err == nil && len(left) == len(p.Steps) {
			return p, hint.Usage("--skip "+k+": the plan has no such step", "plumb fix --dry-run shows it")
		}
		p.Steps = left
	}
	return p, err
}

func (x *fixing) wholePlan() (advise.Plan, error) {
	switch {
	case len(x.set) > 0:
		return x.planOfSets()
	case x.file != "":
		p, err := x.planOfFile()
		if err != nil {
			return p, err
		}
		p.Steps = slices.DeleteFunc(p.Steps, func(s advise.Step) bool { return !x.choice.Takes(s) })
		return p, nil
	}
	if err := check.There(x.choice.Only, x.stack); err != nil {
		return advise.Plan{}, err
	}
	return x.know.Judge(x.stack, false).Advice.Plan, nil
}

// planOfFile reads a plan and sees that it is for this host.
func (x *fixing) planOfFile() (advise.Plan, error) {
	text, err := x.readPlan()
	if err != nil {
		return advise.Plan{}, fmt.Errorf("read the plan %s: %w", x.file, cause(err))
	}
	p, err := advise.ReadPlan(text)
	if err != nil {
		return p, hint.With(fmt.Errorf("%s: %w", x.file, err), "plumb check --plan FILE writes one")
	}
	if x.image != "" { // an image has no name of its own yet
		return p, nil
	}
	if here := x.hostname(); p.Host != "" && here != "" && p.Host != here {
		return p, hint.With(fmt.Errorf("the plan %s is for the host %s, and this is %s", x.file, p.Host, here), "plumb check --plan FILE makes one for this host")
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
		s, err := readSet(text, x.know.Catalog, x.stack)
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, s)
	}
	return p, nil
}

// readSet reads kind:name#knob=value, and name=value for a setting of the host
// itself. Knobs are named as Plumb does or as people write them.
func readSet(text string, cat *catalog.Catalog, s *stack.Stack) (advise.Step, error) {
	wrong := func(help, why string, args ...any) (advise.Step, error) {
		return advise.Step{}, hint.Usage(fmt.Sprintf("--set %s: ", text)+fmt.Sprintf(why, args...),
			cmp.Or(help, "want THING#KNOB=VALUE, such as mysql:3306#sync_binlog=1 or dataset:tank/db#recordsize=16K, or vm.swappiness=10"))
	}
	where, value, ok := strings.Cut(text, "=")
	if !ok {
		return wrong("", "not understood")
	}
	of, written := ofHost(s), where
	if thing, name, named := strings.Cut(where, "#"); named {
		var err error
		if of, err = thingCalled(s, thing); err != nil {
			return wrong("", "%v", err)
		}
		written = name
	}
	fact := knobCalled(cat, of.Kind, written)
	if fact == nil {
		return wrong(meant(written, slices.Sorted(maps.Keys(cat.Knobs(of.Kind)))), "there is no knob %s of kind %s", written, of.Kind)
	}
	name := fact.Name
	to, err := catalog.ParseValue(fact, value)
	if err != nil {
		return wrong("", "%v", err)
	}
	step := advise.Step{Knob: stack.Knob{Of: of, Name: name}, To: to, Because: "asked for on the command line", Effect: fact.EffectOn(s.Find(of))}
	if t := s.Find(of); t != nil {
		step.From, _ = t.Get(name)
	}
	return step, nil
}

// thingCalled reads kind:name, and a kind alone where one thing is of it.
func thingCalled(s *stack.Stack, text string) (stack.Ref, error) {
	switch found := s.OfKind(text); len(found) {
	case 0:
		return stack.ParseRef(text)
	case 1:
		return found[0].Ref, nil
	default:
		return stack.Ref{}, fmt.Errorf("%d things are of kind %s: say which, such as %s", len(found), text, found[0].Ref)
	}
}

// ofHost names the host itself; an image has no name yet.
func ofHost(s *stack.Stack) stack.Ref {
	if h := s.Host(); h != nil {
		return h.Ref
	}
	return stack.Ref{Kind: "host", Name: "localhost"}
}

// knobCalled finds a knob by Plumb's name or by the one people write; nil when
// there is none.
func knobCalled(cat *catalog.Catalog, kind, written string) *catalog.Fact {
	for name, f := range cat.Knobs(kind) {
		if written == name || written == f.Shown {
			return f
		}
	}
	return nil
}
