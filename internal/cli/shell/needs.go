package shell

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"plumb/internal/hint"
)

// Annotations by which cobra notes on a flag the groups it is in. Each value is a
// group: names of flags with spaces between them.
const (
	together    = "cobra_annotation_required_if_others_set"
	oneRequired = "cobra_annotation_one_required"
	exclusive   = "cobra_annotation_mutually_exclusive"
)

// Instead is the annotation of a flag with which a command does something else, and needs none of its usual flags.
const Instead = "plumb_instead"

// instead tells whether a flag annotated with Instead is given. It removes all annotations then, so that cobra, which checks them after
// us, demands no flags either.
func instead(c *cobra.Command) (is bool) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		is = is || f.Annotations[Instead] != nil && f.Value.String() != ""
	})
	if is {
		c.Flags().VisitAll(func(f *pflag.Flag) { f.Annotations = nil })
	}
	return is
}

// onlyWith is the annotation that OnlyWith makes.
const onlyWith = "plumb_only_with"

// OnlyWith marks a flag that has no effect unless one of the others is given too. Needs refuses it without them.
func OnlyWith(c *cobra.Command, flag string, others ...string) {
	if err := c.Flags().SetAnnotation(flag, onlyWith, others); err != nil {
		panic(err)
	}
}

// Needs is an error if a command lacks flags, or if flags are given that do not go
// together. Cobra checks this too, but with errors that are no usage errors of ours
// and have no hint.
func Needs(c *cobra.Command) error {
	help := c.CommandPath() + " --help shows how it is used"
	var lacks []string
	if instead(c) {
		return nil
	}
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Annotations[cobra.BashCompOneRequiredFlag] != nil && !f.Changed {
			lacks = append(lacks, withValue(f))
		}
	})
	if len(lacks) > 0 {
		return hint.Usage(c.CommandPath()+" needs "+strings.Join(lacks, " and "), help)
	}
	for _, names := range flagGroups(c, oneRequired) {
		if given, _ := parted(c, names); len(given) == 0 {
			_, all := parted(c, names)
			return hint.Usage(c.CommandPath()+" needs one of "+strings.Join(all, ", "), help)
		}
	}
	for _, names := range flagGroups(c, exclusive) {
		if given, _ := parted(c, names); len(given) > 1 {
			return hint.Usage(strings.Join(given, " and ")+" cannot be combined", "give one of them")
		}
	}
	for _, names := range flagGroups(c, together) {
		if given, missing := parted(c, names); len(given) > 0 && len(missing) > 0 {
			return hint.Usage(strings.Join(given, " and ")+" is given without "+strings.Join(missing, " and "), "give all of them")
		}
	}
	return idle(c)
}

// idle is an error if a flag has no effect because those it goes with are not given.
func idle(c *cobra.Command) (err error) {
	c.Flags().VisitAll(func(f *pflag.Flag) {
		others := f.Annotations[onlyWith]
		if !f.Changed || others == nil || err != nil {
			return
		}
		if given, all := parted(c, others); len(given) == 0 {
			err = hint.Usage("--"+f.Name+" has no effect without "+strings.Join(all, " or "), "leave it out, or give both")
		}
	})
	return err
}

// withValue writes a flag as the help does: --to URL.
func withValue(f *pflag.Flag) string {
	value, _ := pflag.UnquoteUsage(f)
	return strings.TrimSpace("--" + f.Name + " " + value)
}

// flagGroups returns the groups that a command's flags are in by an annotation, each once.
func flagGroups(c *cobra.Command, kind string) (all [][]string) {
	var seen []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		for _, group := range f.Annotations[kind] {
			if !slices.Contains(seen, group) {
				seen = append(seen, group)
				all = append(all, strings.Fields(group))
			}
		}
	})
	return all
}

// parted divides the flags of a group into those that were given and those that were not.
func parted(c *cobra.Command, names []string) (given, missing []string) {
	for _, name := range names {
		if c.Flags().Changed(name) {
			given = append(given, "--"+name)
		} else {
			missing = append(missing, "--"+name)
		}
	}
	return given, missing
}
