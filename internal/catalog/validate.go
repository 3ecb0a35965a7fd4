package catalog

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"plumb/internal/stack"
	"plumb/internal/strictyaml"
)

// Validate reports what a probe got wrong: facts of another type than
// declared, and facts and links that are not declared at all. Kinds marked
// open may carry raw settings.
func (c *Catalog) Validate(s *stack.Stack) error {
	var all []error
	for _, t := range s.Things {
		k := c.Kinds[t.Ref.Kind]
		if k == nil {
			all = append(all, fmt.Errorf("%s: there is no kind %q%s", t.Ref, t.Ref.Kind, strictyaml.Meant(t.Ref.Kind, slices.Sorted(maps.Keys(c.Kinds)))))
			continue
		}
		all = append(all, k.validate(t)...)
	}
	return errors.Join(all...)
}

func (k *Kind) validate(t *stack.Thing) []error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(t.Facts)) {
		f, v := k.Facts[name], t.Facts[name].Value
		switch {
		case f == nil && !k.Open:
			all = append(all, fmt.Errorf("%s: %s has no fact %s%s", t.Ref, k.Name, name, strictyaml.Meant(name, slices.Sorted(maps.Keys(k.Facts)))))
		case f != nil && !v.IsAbsent() && !f.Type.Fits(v):
			all = append(all, fmt.Errorf("%s: %s is %T, declared as %s in %s:%d", t.Ref, name, v.Any(), f.Type, f.File, f.Line))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(t.Links)) {
		link, listed := k.Links[name]
		if !listed {
			all = append(all, fmt.Errorf("%s: %s has no link %s%s", t.Ref, k.Name, name, strictyaml.Meant(name, slices.Sorted(maps.Keys(k.Links)))))
			continue
		}
		for _, to := range t.Links[name] {
			if to.Kind != link.To {
				all = append(all, fmt.Errorf("%s: link %s leads to %s, declared as %s", t.Ref, name, to, link.To))
			}
		}
	}
	return all
}

// Fits reports whether a value is of the type's Go type.
func (t Type) Fits(v stack.Value) bool {
	switch v.Any().(type) {
	case bool:
		return t == Bool
	case string:
		return t == Text
	case []string:
		return t == List
	case int64:
		return t == Int || t == Bytes || t == Millis || t == Micros || t == Seconds
	case float64:
		return t == Float || t == Percent || t == Ratio || t == Rate
	}
	return false
}
