package shell

import "github.com/spf13/cobra"

// Described is in the usage of every --json: the command tree puts the name of the document into it that the command prints.
const Described = " (plumb schema describes it)"

// JSONFlag adds the flag that asks for JSON instead of text. more is appended to its usage, such as "; goes with --at".
func JSONFlag(c *cobra.Command, into *bool, more string) {
	c.Flags().BoolVar(into, "json", false, "print JSON v1"+Described+more)
}

// YesFlag adds the flag that answers a command's question with yes; [Shell.Ask] takes its value.
func YesFlag(c *cobra.Command, into *bool) { c.Flags().BoolVar(into, "yes", false, "do not ask") }
