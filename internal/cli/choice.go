package cli

import (
	"github.com/spf13/cobra"

	"plumb/internal/check"
	"plumb/internal/cli/shell"
)

// choiceFlags are the flags that choose among rules and things.
func choiceFlags(c *cobra.Command, f *check.Choice) {
	c.Flags().StringSliceVar(&f.Only, "only", nil, "only findings about these `AREAS` (mysql, postgres, zfs, block, kernel, ...) or things (mysql:3306)")
	c.Flags().StringSliceVar(&f.Rules, "rule", nil, "only these `RULES`; * matches, as in zfs/*")
	c.Flags().StringSliceVar(&f.Skip, "skip", nil, "skip these `RULES`; * matches, as in zfs/*")
	shell.Offer(c, map[string]shell.Words{"only": areaWords, "rule": check.RuleIDs, "skip": check.RuleIDs})
}
