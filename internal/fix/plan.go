package fix

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/internal/hint"
	"plumb/internal/stack"
)

// Request says which steps are asked for: those of a plan, those that are named
// one by one, or else what a check of the host advises.
type Request struct {
	File  string   // of a plan; "" for none
	Text  []byte   // what it holds
	Set   []string // knobs and values
	Skip  []string // knobs of the plan that are left out
	Image bool     // they are for an unpacked image, and not for the host
}

// Plan gives the steps that were asked for, without those whose knobs are left
// out.
func (r Request) Plan(k check.Knowledge, s *stack.Stack) (advise.Plan, error) {
	p, err := r.whole(k, s)
	for _, knob := range r.Skip {
		left := slices.DeleteFunc(slices.Clone(p.Steps), func(s advise.Step) bool { return s.Knob.String() == knob })
		if err == nil && len(left) == len(p.Steps) {
			return p, hint.Usage("--skip "+knob+": the plan has no such step", "plumb fix --dry-run shows it")
		}
		p.Steps = left
	}
	return p, err
}

func (r Request) whole(k check.Knowledge, s *stack.Stack) (advise.Plan, error) {
	switch {
	case len(r.Set) > 0:
		return r.ofSets(k.Catalog, s)
	case r.File != "":
		p, err := r.ofFile(s)
		if err != nil {
			return p, err
		}
		p.Steps = slices.DeleteFunc(p.Steps, func(s advise.Step) bool { return !k.Choice.Takes(s) })
		return p, nil
	}
	if err := check.There(k.Choice.Only, s); err != nil {
		return advise.Plan{}, err
	}
	return k.Judge(s).Advice.Plan, nil
}

// PlanIn gives the plan in what a file holds that check --plan wrote.
func PlanIn(file string, text []byte) (advise.Plan, error) {
	p, err := advise.ReadPlan(text)
	if err != nil {
		err = hint.With(fmt.Errorf("%s: %w", file, err), cmp.Or(hint.Of(err), "plumb check --plan FILE writes one"))
	}
	return p, err
}

// ofFile reads a plan and sees that it is for this host.
func (r Request) ofFile(s *stack.Stack) (advise.Plan, error) {
	p, err := PlanIn(r.File, r.Text)
	if err != nil {
		return p, err
	}
	if r.Image { // an image has no name of its own yet
		return p, nil
	}
	if here := s.Hostname(); p.Host != "" && here != "" && p.Host != here {
		return p, hint.With(fmt.Errorf("the plan %s is for the host %s, and this is %s", r.File, p.Host, here), "plumb check --plan FILE makes one for this host")
	}
	return p, nil
}

// ofSets makes a plan of knobs and values.
func (r Request) ofSets(cat *catalog.Catalog, s *stack.Stack) (advise.Plan, error) {
	p := advise.Plan{Plumb: advise.PlanVersion, Kind: "plan", Host: s.Hostname(), TakenAt: s.TakenAt}
	for _, text := range r.Set {
		step, err := readSet(text, cat, s)
		if err != nil {
			return p, err
		}
		p.Steps = append(p.Steps, step)
	}
	return p, nil
}

// KnobsApart parts the knobs that are to be skipped from its rules.
func KnobsApart(skip []string) (rules, knobs []string) {
	for _, s := range skip {
		if strings.Contains(s, "#") {
			knobs = append(knobs, s)
			continue
		}
		rules = append(rules, s)
	}
	return rules, knobs
}

// readSet reads kind:name#knob=value, and name=value for a setting of the host
// itself. Knobs are named as Plumb does or as people write them.
func readSet(text string, cat *catalog.Catalog, s *stack.Stack) (advise.Step, error) {
	wrong := func(help, why string, args ...any) (advise.Step, error) {
		return advise.Step{}, hint.Usage(fmt.Sprintf("--set %s: ", text)+fmt.Sprintf(why, args...),
			cmp.Or(help, "use THING#SETTING=VALUE, such as mysql:3306#sync_binlog=1 or dataset:tank/db#recordsize=16K, or vm.swappiness=10"))
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
		return wrong(hint.Meant(written, slices.Sorted(maps.Keys(cat.Knobs(of.Kind)))), "there is no setting %s of kind %s", written, of.Kind)
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
