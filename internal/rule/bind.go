package rule

import (
	"maps"
	"slices"
	"strings"

	"plumb/internal/stack"
)

// hostVar is the variable every rule has.
const hostVar = "host"

// combination is one way to bind a rule's variables.
type combination struct {
	things
	missing []Missing // links that are unknown; variables behind them are nil
}

// combinations lists every way to bind the rule's variables on a stack.
func (r *Rule) combinations(s *stack.Stack) []combination {
	host := s.Host()
	if host == nil {
		if len(r.For) == 0 {
			return nil
		}
		host = stack.NewThing("host", "host")
	}
	all := []combination{{things: things{hostVar: host}}}
	for _, b := range r.For {
		var next []combination
		for _, c := range all {
			next = append(next, b.extend(s, c)...)
		}
		all = next
	}
	return r.distinct(all)
}

// extend binds one more variable in all ways. A link that leads nowhere gives
// no way: the rule does not concern these things.
func (b Binding) extend(s *stack.Stack, c combination) []combination {
	var found []*stack.Thing
	var missing []Missing
	switch {
	case b.From == "":
		found = s.OfKind(b.Kind)
	case c.things[b.From] == nil:
		return []combination{c.with(b.Var, nil, nil)}
	default:
		found, missing = follow(s, c.things[b.From], b.Links)
	}
	var out []combination
	for _, t := range found {
		out = append(out, c.with(b.Var, t, nil))
	}
	if len(missing) > 0 {
		out = append(out, c.with(b.Var, nil, missing))
	}
	return out
}

func (c combination) with(name string, t *stack.Thing, missing []Missing) combination {
	next := combination{maps.Clone(c.things), slices.Concat(c.missing, missing)}
	next.things[name] = t
	return next
}

// follow walks links from a thing. Things behind unknown links are missing.
func follow(s *stack.Stack, from *stack.Thing, links []string) (found []*stack.Thing, missing []Missing) {
	found = []*stack.Thing{from}
	for _, link := range links {
		var next []*stack.Thing
		for _, t := range found {
			refs, known := t.Links[link]
			if !known {
				missing = append(missing, Missing{Of: t.Ref, Name: link})
			}
			for _, ref := range refs {
				to := s.Find(ref)
				if to == nil { // named, but nothing of it was seen
					to = stack.NewThing(ref.Kind, ref.Name)
				}
				if !slices.ContainsFunc(next, func(have *stack.Thing) bool { return have.Ref == ref }) {
					next = append(next, to)
				}
			}
		}
		found = next
	}
	slices.SortFunc(found, func(a, b *stack.Thing) int { return a.Ref.Compare(b.Ref) })
	return found, missing
}

// distinct drops combinations in which two of the distinct variables are one
// thing, and those that only swap them.
func (r *Rule) distinct(all []combination) []combination {
	if len(r.Distinct) == 0 {
		return all
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(c combination) bool {
		var pair, rest []string
		for _, b := range r.For {
			name := "unknown"
			if t := c.things[b.Var]; t != nil {
				name = t.Ref.String()
			}
			if slices.Contains(r.Distinct, b.Var) {
				pair = append(pair, name)
			} else {
				rest = append(rest, name)
			}
		}
		slices.Sort(pair)
		same := len(slices.Compact(slices.Clone(pair))) < len(pair) && !slices.Contains(pair, "unknown")
		key := strings.Join(append(pair, rest...), "\n")
		drop := same || seen[key]
		seen[key] = true
		return drop
	})
}

// refs names what was bound, in the rule's order.
func (r *Rule) refs(b things) []stack.Ref {
	var out []stack.Ref
	for _, v := range r.For {
		if t := b[v.Var]; t != nil {
			out = append(out, t.Ref)
		}
	}
	return out
}
