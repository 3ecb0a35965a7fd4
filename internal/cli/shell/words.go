package shell

import (
	"strings"

	"github.com/spf13/cobra"
)

// Words lists what a shell offers as completions of an argument or a flag.
type Words func() []string

// Offer makes a shell complete flags from lists. It panics if the command has no
// flag of a name.
func Offer(c *cobra.Command, flags map[string]Words) {
	for name, list := range flags {
		if err := c.RegisterFlagCompletionFunc(name, list.Complete); err != nil {
			panic(err)
		}
	}
}

// Complete returns the words that begin with what was typed. In a list with commas it completes
// what comes after the last one.
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
