// Package cli is the command line: each command parses its flags, calls, and
// hands the result to view. wire.go, and the files beside it that end in _wire.go,
// are the one list of adapters.
//
// The rules of this user interface: what was asked for goes to standard
// output, everything else to standard error. An error is one line that says
// what was attempted on what, and, when there is something a person can do, a
// line "hint: ...". Colour only on a terminal.
package cli

import (
	"io"
	"slices"

	"github.com/spf13/cobra"

	protectcli "plumb/internal/cli/protect"
	"plumb/internal/cli/shell"
	"plumb/internal/cli/watch/feed"
	"plumb/internal/view/schema"
)

const exitTable = `Exit codes:
  0  done; without --fail-on also when something was found
  1  something was found that is at least as bad as --fail-on says
  2  the command line is wrong
  3  it could not read what it needs`

// app is the process, with the commands as its methods.
type app struct {
	shell.Shell
	itself *feed.Again // runs plumb again; nil where something else than plumb calls Main
}

// Program is Main for the program itself, which runs itself again for what
// needs much memory. Whoever else calls Main, as a test does, has no such commands.
func Program(args []string, in io.Reader, out, err io.Writer) int {
	a := &app{Shell: shell.New(in, out, err), itself: new(feed.Again)}
	return a.main(args)
}

// Main runs one command and returns the exit code.
func Main(args []string, in io.Reader, out, err io.Writer) int {
	a := &app{Shell: shell.New(in, out, err)}
	return a.main(args)
}

func (a *app) main(args []string) int {
	ctx, stop := shell.Ending()
	defer stop()
	root := a.root()
	root.SetArgs(args)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	return a.Exit(root.ExecuteContext(ctx))
}

// root makes the command tree.
func (a *app) root() *cobra.Command {
	groups, hidden := a.groups(), protectcli.Hidden(&a.Shell, keepers())
	makers := slices.Clip(hidden)
	for _, g := range groups {
		if g.makes {
			makers = append(makers, g.commands...)
		}
	}
	root := &cobra.Command{
		Use:   "plumb",
		Short: "find what is out of line between a database and the machine under it",
		Long: `Plumb reads a database host from the kernel to the database, says what is out
of line between the layers, and shows the evidence. It knows MySQL, MariaDB,
Percona Server, PostgreSQL and MongoDB on ZFS, ext4, XFS and btrfs.`,
		Example: `  plumb check                     what is out of line here?
  plumb explain sync-binlog-off   why? mechanism, versions, sources
  plumb fix --dry-run             what would be done about it?
  plumb undo                      revert it
  plumb rehearse                  what would the advice gain here?`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		PersistentPreRunE: func(c *cobra.Command, _ []string) error {
			if slices.ContainsFunc(makers, func(maker *cobra.Command) bool { return isOf(c, maker) }) {
				shell.Outlive(c)
			}
			return shell.Needs(c)
		},
		Args: a.NoSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return a.start(c.Context()) },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(shell.FlagError)
	a.arrange(root, groups)
	root.AddCommand(a.man(), a.leftovers())
	root.AddCommand(a.again()...)
	root.AddCommand(hidden...)
	plainDefaults(root)
	nameDocuments(root, schema.Documents())
	return root
}

// isOf tells whether a command is another, or lies below it.
func isOf(c, other *cobra.Command) bool {
	for ; c != nil; c = c.Parent() {
		if c == other {
			return true
		}
	}
	return false
}
