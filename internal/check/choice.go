package check

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// Choice says which rules a check asks, and about which things. The zero value
// asks all about all.
type Choice struct {
	Only  []string // kinds or areas: mysql, zfs; or one thing: mysql:3306
	Rules []string // rule ids or patterns
	Skip  []string // rule ids or patterns
}

// asks reports whether a rule is among the chosen.
func (c Choice) asks(id string) bool {
	return (len(c.Rules) == 0 || matches(c.Rules, id)) && !matches(c.Skip, id)
}

// matches reports whether any pattern means a rule. area/* means all below
// it: the ids of a user's own rules have an area in their area.
func matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		if area, all := strings.CutSuffix(p, "/*"); all && strings.HasPrefix(id, area+"/") {
			return true
		}
		ok, err := path.Match(p, id)
		return ok && err == nil || p == id
	})
}

// Validate checks that every pattern matches a rule, and that --only names
// something there is: a misspelt one would otherwise pass in silence.
func (c Choice) Validate(ids []string, cat *catalog.Catalog) error {
	for _, p := range slices.Concat(c.Rules, c.Skip) {
		if !slices.ContainsFunc(ids, func(id string) bool { return matches([]string{p}, id) }) {
			return hint.Usage(fmt.Sprintf("no rule matches %q", p), cmp.Or(hint.Meant(p, ids), "plumb rules lists them"))
		}
	}
	areas := Areas(ids, cat)
	for _, o := range c.Only {
		if kind, _, _ := strings.Cut(o, ":"); !slices.Contains(areas, kind) {
			return hint.Usage(fmt.Sprintf("--only %s is neither an area nor a thing", o), "use one of "+strings.Join(areas, ", "))
		}
	}
	return nil
}

// There checks that the things --only names are on the host that was read:
// otherwise a misspelt one would pass for a healthy one.
func There(only []string, s *stack.Stack) error {
	for _, o := range only {
		_, _, isThing := strings.Cut(o, ":")
		if !isThing || slices.ContainsFunc(s.Things, func(t *stack.Thing) bool { return t.Ref.String() == o }) {
			continue
		}
		return NotHere("--only", o, s)
	}
	return nil
}

// NotHere says that a thing is not on the host that was read, and what is.
func NotHere(flag, name string, s *stack.Stack) error {
	kind, _, _ := strings.Cut(name, ":")
	help := "plumb stack shows what there is"
	var like []string
	for _, t := range s.OfKind(kind) {
		like = append(like, t.Ref.String())
	}
	if len(like) > 0 {
		help = "there is " + strings.Join(like[:min(len(like), 8)], ", ")
	}
	return hint.Usage(fmt.Sprintf("%s %s is not on this host", flag, name), help)
}

// Keeps reports whether a verdict was asked for. A rule across layers counts
// for --only when any of its things does.
func (c Choice) Keeps(v rule.Evaluation) bool {
	if !c.asks(v.Rule.ID) {
		return false
	}
	return len(c.Only) == 0 || c.names(areaOf(v.Rule.ID)) || slices.ContainsFunc(v.Things, func(r stack.Ref) bool {
		return c.names(r.Kind) || slices.Contains(c.Only, r.String())
	})
}

// Lists reports whether a list of rules should have this one: like Keeps,
// before anything is bound.
func (c Choice) Lists(r *rule.Rule) bool {
	return c.asks(r.ID) && (len(c.Only) == 0 || c.names(areaOf(r.ID)) || slices.ContainsFunc(r.Kinds(), c.names) ||
		slices.ContainsFunc(c.Only, func(o string) bool {
			kind, _, thing := strings.Cut(o, ":")
			return thing && slices.Contains(r.Kinds(), kind)
		}))
}

// names reports whether --only names an area or a kind of things. zfs stands
// for its pools and datasets too, as it does in people's mouths.
func (c Choice) names(kind string) bool {
	return slices.Contains(c.Only, kind) || slices.Contains(c.Only, "zfs") && (kind == "pool" || kind == "dataset")
}

// areaOf gives the first word of a rule's id.
func areaOf(id string) string {
	area, _, _ := strings.Cut(id, "/")
	return area
}

// Areas are what --only takes: the areas of rules and the kinds of things.
func Areas(ids []string, cat *catalog.Catalog) []string {
	list := slices.Collect(maps.Keys(cat.Kinds))
	for _, id := range ids {
		list = append(list, areaOf(id))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Takes reports whether a step of a plan was asked for: --skip and --rule
// name rules, --only areas or things.
func (c Choice) Takes(s advise.Step) bool {
	if len(s.Why) > 0 && !slices.ContainsFunc(s.Why, c.asks) {
		return false
	}
	return c.about(s.Knob.Of) || slices.ContainsFunc(s.Why, func(rule string) bool { return c.names(areaOf(rule)) })
}

// about reports whether a choice is about a thing, whatever the rules.
func (c Choice) about(of stack.Ref) bool {
	return len(c.Only) == 0 || c.names(of.Kind) || slices.Contains(c.Only, of.String())
}

// Unseen names the servers that a choice is about and that Plumb is not logged in to. Hardly a rule about them was judged, so a plan
// without steps says little.
func (c Choice) Unseen(s *stack.Stack) (names []string) {
	for _, t := range s.Things {
		if in, known := t.Bool("logged_in"); known && !in && c.about(t.Ref) {
			names = append(names, t.Ref.String())
		}
	}
	return names
}
