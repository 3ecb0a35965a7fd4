package cli

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

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
	c.Flags().StringSliceVar(&f.only, "only", nil, "only findings about these `AREAS` (mysql, postgres, zfs, block, kernel …) or things (mysql:3306)")
	c.Flags().StringSliceVar(&f.rule, "rule", nil, "only these `RULES`; * matches, as in zfs/*")
	c.Flags().StringSliceVar(&f.skip, "skip", nil, "not these `RULES`; * matches")
}

// asks reports whether a rule is among the chosen.
func (f choice) asks(id string) bool {
	return (len(f.rule) == 0 || matches(f.rule, id)) && !matches(f.skip, id)
}

func matches(patterns []string, id string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, id)
		return ok && err == nil || p == id
	})
}

// known checks that every pattern matches a rule: a misspelt one would
// otherwise pass in silence.
func (f choice) known(ids []string) error {
	for _, p := range slices.Concat(f.rule, f.skip) {
		if !slices.ContainsFunc(ids, func(id string) bool { return matches([]string{p}, id) }) {
			return &usageError{fmt.Sprintf("no rule matches %q", p), cmp.Or(meant(p, ids), "plumb rules lists them")}
		}
	}
	return nil
}

// areas gives what --only may name: the folders of the rules and the kinds.
func areas(ids []string, kinds []string) []string {
	out := slices.Clone(kinds)
	for _, id := range ids {
		area, _, _ := strings.Cut(id, "/")
		out = append(out, area)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f choice) knownAreas(all []string) error {
	for _, o := range f.only {
		kind, _, thing := strings.Cut(o, ":")
		if !slices.Contains(all, kind) || thing && kind == "" {
			return &usageError{fmt.Sprintf("--only %s is neither an area nor a thing", o), "want one of " + strings.Join(all, ", ")}
		}
	}
	return nil
}

// keeps reports whether a verdict was asked for. A rule across layers counts
// for --only when any of its things does.
func (f choice) keeps(v rule.Verdict) bool {
	if !f.asks(v.Rule.ID) {
		return false
	}
	area, _, _ := strings.Cut(v.Rule.ID, "/")
	return len(f.only) == 0 || slices.Contains(f.only, area) || slices.ContainsFunc(v.Things, func(r stack.Ref) bool {
		return slices.Contains(f.only, r.Kind) || slices.Contains(f.only, r.String())
	})
}

// lists reports whether a list of rules should have this one: like keeps,
// before anything is bound.
func (f choice) lists(r *rule.Rule) bool {
	area, _, _ := strings.Cut(r.ID, "/")
	return f.asks(r.ID) && (len(f.only) == 0 || slices.Contains(f.only, area) ||
		slices.ContainsFunc(r.Kinds(), func(k string) bool { return slices.Contains(f.only, k) }))
}
