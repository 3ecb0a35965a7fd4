package cli

import (
	"github.com/spf13/cobra"

	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
)

// again are the commands that plumb watch types: what needs much memory for a
// moment is done by a process that ends. They are hidden.
func (a *app) again() []*cobra.Command {
	var src shell.Source
	look := &cobra.Command{
		Use:   feed.Look,
		Short: "read this host as a whole, for plumb watch, which starts it",
		Long: `Look reads this host as plumb check does, and writes what it saw as a line of JSON,
whose form is that of this version of Plumb alone. It ends when its input ends.
plumb stack --json is for people and programs.

` + shell.ReadExits,
		Args:   shell.NoArgs,
		Hidden: true,
		RunE: func(c *cobra.Command, _ []string) error {
			return feed.AnswerLook(c.Context(), &a.Shell, a.watched(), src)
		},
	}
	src.LiveFlags(look)
	judge := &cobra.Command{
		Use:   feed.Judge,
		Short: "judge a host that is read, for plumb watch, which starts it",
		Long: `Judge is given what plumb look wrote, in a line, and writes in another what is out
of line there. plumb check --json is for people and programs.

` + shell.ReadExits,
		Args:   shell.NoArgs,
		Hidden: true,
		RunE:   func(c *cobra.Command, _ []string) error { return feed.AnswerJudge(c.Context(), &a.Shell) },
	}
	return []*cobra.Command{look, judge}
}
