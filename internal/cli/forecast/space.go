package forecast

import (
	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
)

func spaceCommand(s *shell.Shell) *cobra.Command {
	return &cobra.Command{
		Use:   "space",
		Short: "say when filesystems, datasets, pools and what is kept on them are full",
		Args:  shell.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return nil },
	}
}
