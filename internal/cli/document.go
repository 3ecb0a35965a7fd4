package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
)

// nameDocuments says in the help of a command, and of all below it, which of the documents --json prints. Without a name the usage
// would lead to the schema of check.
func nameDocuments(c *cobra.Command, documents []string) {
	if f := c.Flags().Lookup("json"); f != nil {
		named := ""
		if name := documentOf(c); slices.Contains(documents, name) {
			named = " (plumb schema " + name + " describes it)"
		}
		f.Usage = strings.Replace(f.Usage, shell.Described, named, 1)
	}
	for _, below := range c.Commands() {
		nameDocuments(below, documents)
	}
}

// documentOf is the name of a command's document: the name of the command, unless several print the same document.
func documentOf(c *cobra.Command) string {
	_, words, _ := strings.Cut(c.CommandPath(), " ")
	shared := map[string]string{
		"watch replay": "watch",
		"clone":        "clones", "clone list": "clones", "clone drop": "clones", "clone refresh": "clones",
		"protect list": "points", "protect hold": "points",
		"backup list": "backups", "backup show": "backups", "archive list": "archive",
		"load oltp": "load", "load tpcc": "load", "load fileio": "load",
		"lab run": "lab", "lab report": "lab",
		"forecast cache": "forecast-model", "forecast load": "forecast-model", "forecast zfs": "forecast-model",
		"forecast volume": "forecast-model", "forecast monitor": "forecast-model", "forecast wear": "forecast-model",
	}
	return cmp.Or(shared[words], strings.ReplaceAll(words, " ", "-"))
}
