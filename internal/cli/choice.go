package cli

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/catalog"
	"plumb/internal/hint"
	"plumb/internal/rule"
	"plumb/internal/stack"
)

// choice says which rules a check asks, and about which things.
type choice struct {
	only []string // kinds or areas: mysql, zfs; or one thing: mysql:3306
	rule []string // rule ids or patterns
	skip []string // rule ids or patterns
}

func (f *choice) flags(c *cobra.Command) {
	c.Flags().StringSliceVar(&f.only, "only", nil, "only findings about these `AREAS` (mysql, postgres, zfs, block, kernel, ...) or things (mysql:3306)")
	c.Flags().StringSliceVar(&f.rule, "rule", nil, "only these `RULES`; * matches, as in zfs/*")
	c.Flags().StringSliceVar(&f.skip, "skip", nil, "not these `RULES`; * matches")
	offer(c, map[string]words{"only": areaWords, "rule": ruleIDs, "skip": ruleIDs})
}

// asks reports whether a rule is among the chosen.
func (f choice) asks(id string) bool {
	return (len(f.rule) == 0 || matches(f.rule, id)) && !matches(f.skip, id)
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

// validate checks that every pattern matches a rule, and that --only names
// something there is: a misspelt one would otherwise pass in silence.
func (f choice) validate(ids []string, cat *catalog.Catalog) error {
	for _, p := range slices.Concat(f.rule, f.skip) {
		if !slices.ContainsFunc(ids, func(id string) bool { return matches([]string{p}, id) }) {
			return hint.Usage(fmt.Sprintf("no rule matches %q", p), cmp.Or(meant(p, ids), "plumb rules lists them"))
		}
	}
	areas := areas(ids, cat)
	for _, o := range f.only {
		if kind, _, _ := strings.Cut(o, ":"); !slices.Contains(areas, kind) {
			return hint.Usage(fmt.Sprintf("--only %s is neither an area nor a thing", o), "want one of "+strings.Join(areas, ", "))
		}
	}
	return nil
}

// onlyThere checks that the things --only names are on the host that was
// read: otherwise a misspelt one would pass for a healthy one.
func onlyThere(only []string, s *stack.Stack) error {
	for _, o := range only {
		_, _, isThing := strings.Cut(o, ":")
		if !isThing || slices.ContainsFunc(s.Things, func(t *stack.Thing) bool { return t.Ref.String() == o }) {
			continue
		}
		return notHere("--only", o, s)
	}
	return nil
}

// notHere says that a thing is not on the host that was read, and what is.
func notHere(flag, name string, s *stack.Stack) error {
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

// keeps reports whether a verdict was asked for. A rule across layers counts
// for --only when any of its things does.
func (f choice) keeps(v rule.Verdict) bool {
	if !f.asks(v.Rule.ID) {
		return false
	}
	return len(f.only) == 0 || f.names(areaOf(v.Rule.ID)) || slices.ContainsFunc(v.Things, func(r stack.Ref) bool {
		return f.names(r.Kind) || slices.Contains(f.only, r.String())
	})
}

// lists reports whether a list of rules should have this one: like keeps,
// before anything is bound.
func (f choice) lists(r *rule.Rule) bool {
	return f.asks(r.ID) && (len(f.only) == 0 || f.names(areaOf(r.ID)) || slices.ContainsFunc(r.Kinds(), f.names) ||
		slices.ContainsFunc(f.only, func(o string) bool {
			kind, _, thing := strings.Cut(o, ":")
			return thing && slices.Contains(r.Kinds(), kind)
		}))
}

// names reports whether --only names an area or a kind of things. zfs stands
// for its pools and datasets too, as it does in people's mouths.
func (f choice) names(kind string) bool {
	return slices.Contains(f.only, kind) || slices.Contains(f.only, "zfs") && (kind == "pool" || kind == "dataset")
}

func areaOf(id string) string {
	area, _, _ := strings.Cut(id, "/")
	return area
}
