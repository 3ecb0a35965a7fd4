package draft

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"plumb/internal/change"
)

// wanted leaves only edits for an image, and none of them for a value that passes.
func (p *drafting) wanted(acts []change.Act) []change.Act {
	return slices.DeleteFunc(slices.Clone(acts), func(a change.Act) bool { return p.Image && a.Edit == nil || p.Passing && a.Edit != nil })
}

// passes refuses for a while what cannot be in force at once.
func (p *drafting) passes(r change.Recipe) error {
	switch {
	case !p.Passing:
		return nil
	case r.Waits != "":
		return &change.Refusal{Why: "it waits for " + r.Waits}
	case len(r.Acts) == 0:
		return &change.Refusal{Why: "it is set only in files, which persist"}
	}
	return nil
}

// rehearse makes the edits of a step in memory.
func (p *drafting) rehearse(ctx context.Context, r change.Recipe) error {
	for _, a := range r.Acts {
		if !a.Valid() {
			return fmt.Errorf("the recipe of %s has an act that is of no kind or of several", r.Lasts)
		}
		if a.Edit == nil {
			continue
		}
		place := a.Place()
		if value, taken := p.values[place]; taken && value != a.Edit.Value {
			return &change.Refusal{Why: "an earlier step of this plan sets " + place + " too, to something else", What: "apply this step in a run of its own"}
		}
		p.values[place] = a.Edit.Value
		text, known := p.files[a.Edit.File]
		if !known {
			var err error
			if text, err = a.Edit.Text(ctx, p.Doer); err != nil {
				if errors.Is(err, fs.ErrPermission) {
					p.missing[err.Error()] = true
					continue
				}
				return &change.Refusal{Why: err.Error(), What: "make it a plain file that can be read"}
			}
		}
		after, _, err := a.Edit.Result(text)
		if err != nil {
			return &change.Refusal{Why: err.Error(), What: "set it there by hand"}
		}
		p.files[a.Edit.File] = after
	}
	return nil
}

// rights notes what could not be written.
func (p *drafting) rights(ctx context.Context, r change.Recipe) {
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
func (p *drafting) rightsTo(ctx context.Context, a change.Act) {
	switch {
	case a.Make != nil && a.Make.Path != "":
		p.writable(ctx, a.Make.Path, "to make it")
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
