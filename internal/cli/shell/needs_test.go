package shell

import (
	"testing"

	"github.com/spf13/cobra"
)

// With a flag that has a command do something else none of its usual ones are wanted, here or by cobra.
func TestNeedsInstead(t *testing.T) {
	for with, fails := range map[string]bool{"": true, "tool": false} {
		c := &cobra.Command{Use: "backup", RunE: func(*cobra.Command, []string) error { return nil }, PreRunE: func(c *cobra.Command, _ []string) error { return Needs(c) }, SilenceErrors: true, SilenceUsage: true}
		c.Flags().String("to", "", "a place")
		if err := c.MarkFlagRequired("to"); err != nil {
			t.Fatal(err)
		}
		c.Flags().String("with", "", "a tool")
		c.Flags().Lookup("with").Annotations = map[string][]string{Instead: {"true"}}
		c.SetArgs([]string{"--with", with})
		if err := c.Execute(); (err != nil) != fails {
			t.Errorf("--with %q: %v", with, err)
		}
	}
}
