package change

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/catalog"
	"plumb/internal/edit"
	"plumb/internal/hint"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Drafter makes plans ready for one host. It only reads.
type Drafter struct {
	Doer        host.Doer
	Stack       *stack.Stack // the host as it was seen; empty for an image
	Catalog     *catalog.Catalog
	Setters     []Setter
	Dir         string   // where the journal will be
	AllowUnsafe []string // knobs, as kind:name#knob or just the knob's name, that may become less durable
	Image       bool     // an unpacked image: only what lasts
	Passing     bool     // only what is in force now, for a while: nothing that the next start reads
}

// drafting is a plan that is being made ready.
type drafting struct {
	Drafter
	setters map[string]Setter // by kind
	files   map[string][]byte // as the edits of earlier steps will leave them; nil: not there
	values  map[string]string // by place
	missing map[string]bool
	draft   Draft
}

// Prepare makes a plan ready: it finds the acts of every step and everything
// that would stop one of them, and changes nothing.
func (d Drafter) Prepare(ctx context.Context, steps []Step) (Draft, error) {
	p := drafting{Drafter: d, setters: byKind(d.Setters), files: map[string][]byte{}, values: map[string]string{}, missing: map[string]bool{}}
	for _, step := range steps {
		if err := p.step(ctx, step); err != nil {
			return p.draft, err
		}
	}
	if len(p.draft.Steps) > 0 {
		p.writable(ctx, path.Join(d.Dir, "lock"), "to keep the journal")
	}
	p.draft.Missing = slices.Sorted(maps.Keys(p.missing))
	return p.draft, nil
}

func byKind(setters []Setter) map[string]Setter {
	out := map[string]Setter{}
	for _, s := range setters {
		for _, kind := range s.Kinds() {
			out[kind] = s
		}
	}
	return out
}

func (p *drafting) step(ctx context.Context, step Step) error {
	want, now, refusal := p.judge(step)
	if refusal != nil {
		p.draft.Refused = append(p.draft.Refused, *refusal)
		return nil
	}
	if p.already(step, now) {
		p.draft.Already = append(p.draft.Already, step)
		return nil
	}
	recipe, err := p.setters[step.Knob.Of.Kind].Recipe(ctx, p.Doer, p.Stack, want)
	if err == nil {
		recipe.Acts = p.wanted(recipe.Acts)
		err = p.passes(recipe)
	}
	if err == nil {
		err = p.rehearse(ctx, recipe)
	}
	if r, ok := errors.AsType[*Refusal](err); ok {
		p.draft.Refused = append(p.draft.Refused, Refused{Step: step, Reason: r.Why, Hint: r.What})
		return nil
	}
	if err != nil {
		return fmt.Errorf("prepare %s: %w", step.Knob, err)
	}
	if step.To.Equal(now) && p.idle(ctx, recipe) {
		p.draft.Already = append(p.draft.Already, step)
		return nil
	}
	p.rights(ctx, recipe)
	p.draft.Steps = append(p.draft.Steps, Prepared{Step: step, Want: want, Now: now, Recipe: recipe,
		DurabilityFrom: want.Fact.Durability(now), DurabilityTo: want.Fact.Durability(step.To)})
	return nil
}

// judge says whether a step may be done at all.
func (p *drafting) judge(step Step) (Want, stack.Value, *Refused) {
	refuse := func(help, why string, args ...any) *Refused {
		return &Refused{Step: step, Reason: fmt.Sprintf(why, args...), Hint: help, Whole: true}
	}
	fact := p.Catalog.Fact(step.Knob.Of.Kind, step.Knob.Name)
	switch {
	case fact == nil || fact.Knob == nil:
		known := slices.Sorted(maps.Keys(p.Catalog.Knobs(step.Knob.Of.Kind)))
		return Want{}, stack.Value{}, refuse(cmp.Or(hint.Meant(step.Knob.Name, known), "plumb stack --json shows what there is"), "%s is not a setting that Plumb knows", step.Knob)
	case p.setters[step.Knob.Of.Kind] == nil:
		return Want{}, stack.Value{}, refuse("set it by hand", "Plumb changes no settings of kind %s", step.Knob.Of.Kind)
	case fact.Knob.Effect == catalog.Recreate:
		return Want{}, stack.Value{}, &Refused{Step: step, Reason: "it is fixed when the thing is made", Hint: "make a new one and move the data"}
	}
	if why := outOfRange(fact, step.To); why != "" {
		return Want{}, stack.Value{}, refuse("", "%s", why)
	}
	want := Want{Knob: step.Knob, To: step.To, Fact: fact, Image: p.Image, Passing: p.Passing}
	if p.Image {
		return want, stack.Value{}, p.unsafe(fact, step, stack.Value{})
	}
	thing := p.Stack.Find(step.Knob.Of)
	if thing == nil {
		return want, stack.Value{}, refuse("plumb stack shows what there is", "%s is not on this host", step.Knob.Of)
	}
	now, known := thing.Get(step.Knob.Name)
	if known && !step.From.IsAbsent() && !step.From.Equal(now) && !step.To.Equal(now) {
		return want, now, refuse("plumb check --plan makes a new plan", "the plan is stale: it was made when the value was %s, and now it is %s", step.From, now)
	}
	return want, now, p.unsafe(fact, step, now)
}

// unsafe refuses a less durable value that nobody allowed by name.
func (p *drafting) unsafe(fact *catalog.Fact, step Step, now stack.Value) *Refused {
	if !fact.LessDurable(now, step.To) || slices.Contains(p.AllowUnsafe, step.Knob.String()) || slices.Contains(p.AllowUnsafe, step.Knob.Name) {
		return nil
	}
	return &Refused{Step: step, Whole: true, Hint: "--allow-unsafe " + step.Knob.String() + " allows it",
		Reason: fmt.Sprintf("%s is less durable than now: %s", step.To, fact.Durability(step.To))}
}

// outOfRange says what is wrong with a value by the catalogue; the server's
// own limits are its setter's affair.
func outOfRange(f *catalog.Fact, v stack.Value) string {
	if v.IsAbsent() {
		return "the plan gives no value for it"
	}
	if n, ok := v.Number(); ok {
		if f.Knob.Min != nil && n < *f.Knob.Min {
			return fmt.Sprintf("%s is below the least value, %g", v, *f.Knob.Min)
		}
		if f.Knob.Max != nil && n > *f.Knob.Max {
			return fmt.Sprintf("%s is above the greatest value, %g", v, *f.Knob.Max)
		}
	}
	if text, ok := v.Text(); ok && len(f.Knob.Values) > 0 && !slices.Contains(f.Knob.Values, text) {
		return fmt.Sprintf("%s is not one of its values: %v", v, f.Knob.Values)
	}
	return ""
}

// already tells whether nothing is left to do: the value is in force and the
// next start brings no other.
func (p *drafting) already(step Step, now stack.Value) bool {
	if p.Image || !step.To.Equal(now) {
		return false
	}
	if p.Passing {
		return true
	}
	f := p.Stack.Find(step.Knob.Of).Facts[step.Knob.Name]
	if f.Origin != nil && f.Origin.From == stack.FromRuntime {
		return false // the next start forgets it
	}
	return f.Next == nil || f.Next.Value.Equal(step.To)
}

// idle tells whether none of the acts has anything left to do. What cannot be
// read is left to be done.
func (p *drafting) idle(ctx context.Context, r Recipe) bool {
	k := Executor{Doer: p.Doer}
	for _, a := range r.Acts {
		if _, need, err := a.deed().found(ctx, &k); err != nil || need {
			return false
		}
	}
	return true
}

// wanted leaves only edits for an image, and none of them for a value that passes.
func (p *drafting) wanted(acts []Act) []Act {
	return slices.DeleteFunc(slices.Clone(acts), func(a Act) bool { return p.Image && a.Edit == nil || p.Passing && a.Edit != nil })
}

// passes refuses for a while what cannot be in force at once.
func (p *drafting) passes(r Recipe) error {
	switch {
	case !p.Passing:
		return nil
	case r.Waits != "":
		return &Refusal{Why: "it waits for " + r.Waits}
	case len(r.Acts) == 0:
		return &Refusal{Why: "it is set in files alone, which last"}
	}
	return nil
}

// rehearse makes the edits of a step in memory.
func (p *drafting) rehearse(ctx context.Context, r Recipe) error {
	for _, a := range r.Acts {
		if a.deed() == nil {
			return fmt.Errorf("the recipe of %s has an act that is of no kind or of several", r.Lasts)
		}
		if a.Edit == nil {
			continue
		}
		place := a.Place()
		if value, taken := p.values[place]; taken && value != a.Edit.Value {
			return &Refusal{Why: "an earlier step of this plan sets " + place + " too, to something else", What: "apply this step in a run of its own"}
		}
		p.values[place] = a.Edit.Value
		text, known := p.files[a.Edit.File]
		if !known {
			var err error
			if text, err = rawOrNone(ctx, p.Doer, a.Edit.File); err != nil {
				if errors.Is(err, fs.ErrPermission) {
					p.missing[err.Error()] = true
					continue
				}
				return &Refusal{Why: err.Error(), What: "make it a plain file that can be read"}
			}
		}
		after, err := a.Edit.after(text)
		if err != nil {
			return &Refusal{Why: err.Error(), What: "set it there by hand"}
		}
		p.files[a.Edit.File] = after
	}
	return nil
}

// rights notes what could not be written.
func (p *drafting) rights(ctx context.Context, r Recipe) {
	for _, need := range r.Needs {
		p.missing[need] = true
	}
	for _, a := range r.Acts {
		if a.Edit != nil {
			p.writable(ctx, a.Edit.File, "to make it last")
			continue
		}
		p.rightsTo(ctx, a)
	}
}

// rightsTo notes what an act could not do that does not last.
func (p *drafting) rightsTo(ctx context.Context, a Act) {
	switch {
	case a.Make != nil && a.Make.Path != "":
		p.writable(ctx, a.Make.Path, "to make it")
	case a.Remove != nil && a.Remove.Path != "":
		p.writable(ctx, a.Remove.Path, "to remove it")
	case a.Copy != nil:
		p.writable(ctx, a.Copy.To, "to copy there")
	case a.Switch != nil:
		for _, op := range a.Switch.Do {
			if op.Write != nil {
				p.writable(ctx, op.Write.File, "to set it")
			}
		}
	}
}

func (p *drafting) writable(ctx context.Context, name, why string) {
	if err := p.Doer.Writable(ctx, name); err != nil {
		p.missing[fmt.Sprintf("%v (%s)", err, why)] = true
	}
}

// rawOrNone reads a file; nil when there is none.
func rawOrNone(ctx context.Context, d host.Doer, name string) ([]byte, error) {
	text, err := d.Raw(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && text == nil {
		text = []byte{}
	}
	return text, err
}

// after gives what a file will hold once the edit is done.
func (e *Edit) after(text []byte) ([]byte, error) {
	if text == nil {
		text = []byte(e.blank())
	}
	after, err := edit.Set(e.Form, text, e.Key, e.Value)
	if err != nil {
		return nil, fmt.Errorf("edit %s: %w", e.File, err)
	}
	return after, nil
}

// blank is what a new file begins with: the comment, and the group that its
// values stand in, which must not go with the first of them.
func (e *Edit) blank() string {
	text := "# Written by plumb fix; plumb undo takes it back.\n"
	if e.Note != "" {
		text += "# " + e.Note + "\n"
	}
	if group, _, ok := strings.Cut(e.Key, "/"); ok && (e.Form == edit.OptionFile || e.Form == edit.Unit) {
		text += "[" + group + "]\n"
	}
	return text
}
