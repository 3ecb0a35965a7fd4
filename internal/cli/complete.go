package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/advise"
	"plumb/internal/catalog"
	"plumb/internal/check"
	"plumb/knowledge"
)

// words is what a shell offers for an argument or a flag.
type words func() []string

// offer makes a shell complete flags from lists. A flag of the list that the
// command does not have is our own mistake.
func offer(c *cobra.Command, flags map[string]words) {
	for name, list := range flags {
		if err := c.RegisterFlagCompletionFunc(name, list.complete); err != nil {
			panic(err)
		}
	}
}

// complete offers words, and for a list with commas the words for what comes
// after the last one.
func (w words) complete(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before, last := "", typed
	if i := strings.LastIndexByte(typed, ','); i >= 0 {
		before, last = typed[:i+1], typed[i+1:]
	}
	var out []string
	for _, word := range w() {
		if strings.HasPrefix(word, last) {
			out = append(out, before+word)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

func areaWords() []string {
	cat, _ := catalog.Load(knowledge.FS)
	if cat == nil {
		return nil
	}
	return check.Areas(check.RuleIDs(), cat)
}

// explainable are the names that explain knows: rules, and facts and settings
// as people write them.
func explainable() []string {
	list := check.RuleIDs()
	cat, _ := catalog.Load(knowledge.FS)
	if cat == nil {
		return list
	}
	for _, k := range cat.Kinds {
		for _, f := range k.Facts {
			list = append(list, cmp.Or(f.Shown, f.Name))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func harmWords() []string {
	var list []string
	for _, h := range advise.Harms() {
		list = append(list, string(h))
	}
	return list
}
