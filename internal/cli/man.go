package cli

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"plumb/internal/cli/shell"
	"plumb/internal/hint"
)

// man writes one man page for each command into a directory. It is hidden:
// packagers need it, others have them installed.
func (a *app) man() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "write the man pages into a directory",
		Args:   shell.OneArg("directory"),
		Hidden: true,
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write man pages: %w", err)
			}
			head := &doc.GenManHeader{Title: "PLUMB", Section: "1", Source: "plumb " + shell.Version(), Manual: "Plumb", Date: builtAt()}
			if err := doc.GenManTree(c.Root(), head, args[0]); err != nil {
				return fmt.Errorf("write man pages to %s: %w", args[0], err)
			}
			return nil
		},
	}
}

// builtAt is the time of the commit that was built, so that the same commit
// gives the same pages. When the build did not record it, it is nil, and the
// pages take SOURCE_DATE_EPOCH, or the time of today.
func builtAt() *time.Time {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return nil
	}
	for _, s := range info.Settings {
		if t, err := time.Parse(time.RFC3339, s.Value); s.Key == "vcs.time" && err == nil {
			return &t
		}
	}
	return nil
}

// completion prints a completion script.
func (a *app) completion() *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish",
		Short:     "print the completion script for a shell",
		Long:      "Completion prints the script with which a shell completes commands, flags, and the\nnames of rules and settings. The packages install it.\n\n" + shell.ReadExits,
		Example:   "  plumb completion bash > /etc/bash_completion.d/plumb",
		Args:      shell.OneArg("shell"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(c *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return c.Root().GenBashCompletionV2(a.Out, true)
			case "zsh":
				return c.Root().GenZshCompletion(a.Out)
			case "fish":
				return c.Root().GenFishCompletion(a.Out, true)
			}
			return hint.Usage(fmt.Sprintf("no completion for %q", args[0]), "use bash, zsh or fish")
		},
	}
}
