package shell

import (
	"strings"

	"github.com/spf13/cobra"
)

// Words is what a shell offers for an argument or a flag.
type Words func() []string

// Offer makes a shell complete flags from lists. A flag of the list that the
// command does not have is our own mistake.
func Offer(c *cobra.Command, flags map[string]Words) {
	for name, list := range flags {
		if err := c.RegisterFlagCompletionFunc(name, list.Complete); err != nil {
			panic(err)
		}
	}
}

// Complete offers words, and for a list with commas the words for what comes
// after the last one.
func (w Words) Complete(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
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
