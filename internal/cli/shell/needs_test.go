package shell

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"plumb/internal/hint"
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

// TestOnlyWith: a flag that says nothing alone is refused alone.
func TestOnlyWith(t *testing.T) {
	for line, want := range map[string]string{
		"":                       "",
		"--stream a":             "--stream has no effect without --output or --command",
		"--stream a --output b":  "",
		"--stream a --command b": "",
		"--output b":             "",
	} {
		c := &cobra.Command{Use: "restore", RunE: func(*cobra.Command, []string) error { return nil }, PreRunE: func(c *cobra.Command, _ []string) error { return Needs(c) }, SilenceErrors: true, SilenceUsage: true}
		for _, name := range []string{"stream", "output", "command"} {
			c.Flags().String(name, "", "")
		}
		OnlyWith(c, "stream", "output", "command")
		c.SetArgs(strings.Fields(line))
		err := c.Execute()
		if (err == nil) != (want == "") || err != nil && (err.Error() != want || hint.AsUsage(err) == nil) {
			t.Errorf("%q: %v, want %q", line, err, want)
		}
	}
}
