// Package draft makes a plan ready for one host: it finds the acts of every step,
// and what would stop one of them, before the first is done. It only reads; what
// it makes, an Executor of package change carries out.
package draft

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"plumb/internal/catalog"
	"plumb/internal/change"
	"plumb/internal/host"
	"plumb/internal/stack"
)

// Maker makes plans ready for one host. It only reads.
type Maker struct {
	Doer        host.Doer
	Stack       *stack.Stack // the host as it was seen; empty for an image
	Catalog     *catalog.Catalog
	Setters     []change.Setter
	Dir         string   // where the journal will be
	AllowUnsafe []string // knobs, as kind:name#knob or just the knob's name, that may become less durable
	Image       bool     // an unpacked image: only what lasts
	Passing     bool     // only what is in force now, for a while: nothing that the next start reads
}

// drafting is a plan that is being made ready.
type drafting struct {
	Maker
	setters map[string]change.Setter // by kind
	files   map[string][]byte        // as the edits of earlier steps will leave them; nil: not there
	values  map[string]string        // by place
	missing map[string]bool
	draft   change.Draft
}

// Prepare makes a plan ready: it finds the acts of every step and everything
// that would stop one of them, and changes nothing.
func (d Maker) Prepare(ctx context.Context, steps []change.Step) (change.Draft, error) {
	p := drafting{Maker: d, setters: byKind(d.Setters), files: map[string][]byte{}, values: map[string]string{}, missing: map[string]bool{}}
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

func byKind(setters []change.Setter) map[string]change.Setter {
	out := map[string]change.Setter{}
	for _, s := range setters {
		for _, kind := range s.Kinds() {
			out[kind] = s
		}
	}
	return out
}

func (p *drafting) step(ctx context.Context, step change.Step) error {
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
	if r, ok := errors.AsType[*change.Refusal](err); ok {
		p.draft.Refused = append(p.draft.Refused, change.Refused{Step: step, Reason: r.Why, Hint: r.What})
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
	p.draft.Steps = append(p.draft.Steps, change.Prepared{Step: step, Want: want, Now: now, Recipe: recipe,
		DurabilityFrom: want.Fact.Durability(now), DurabilityTo: want.Fact.Durability(step.To)})
	return nil
}

// already tells whether nothing is left to do: the value is in force and the
// next start brings no other.
func (p *drafting) already(step change.Step, now stack.Value) bool {
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
func (p *drafting) idle(ctx context.Context, r change.Recipe) bool {
	for _, a := range r.Acts {
		if need, err := a.Needed(ctx, p.Doer); err != nil || need {
			return false
		}
	}
	return true
}
